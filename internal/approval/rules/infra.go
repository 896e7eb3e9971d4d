package rules

func infraRows() []Row { return nil }
