package main

import "errors"

type demoCmd struct{}

func (demoCmd) Run(a *app) error { return errors.New("demo: not there yet") }

type hooksCmd struct{}

func (hooksCmd) Run(a *app) error { return errors.New("hooks: not there yet") }

type sessionsCmd struct{}

func (sessionsCmd) Run(a *app) error { return errors.New("sessions: not there yet") }

type snapshotCmd struct{}

func (snapshotCmd) Run(a *app) error { return errors.New("snapshot: not there yet") }

type doctorCmd struct{}

func (doctorCmd) Run(a *app) error { return errors.New("doctor: not there yet") }

type loginCmd struct{}

func (loginCmd) Run(a *app) error { return errors.New("login: not there yet") }
