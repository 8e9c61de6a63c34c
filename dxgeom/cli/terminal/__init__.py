"""What all commands share: options, printing, and what happens when something cannot be done."""
