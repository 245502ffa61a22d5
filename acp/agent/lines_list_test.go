package agent_test

var listLines []line
