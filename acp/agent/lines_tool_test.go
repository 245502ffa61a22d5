package agent_test

var toolLines []line
