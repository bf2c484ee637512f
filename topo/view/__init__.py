"""Pictures of a fabric, drawn from its arrays only."""
