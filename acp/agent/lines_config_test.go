package agent_test

var configLines []line
