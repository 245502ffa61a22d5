package agent_test

var promptLines []line
