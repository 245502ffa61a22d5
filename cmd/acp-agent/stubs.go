package main

import "errors"

type hooksCmd struct{}

func (hooksCmd) Run(a *app) error { return errors.New("hooks: not there yet") }

type snapshotCmd struct{}

func (snapshotCmd) Run(a *app) error { return errors.New("snapshot: not there yet") }
