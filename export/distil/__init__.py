"""An artifact as teacher: its translations of monolingual text train a student (Kim and Rush 2016, "Sequence-Level
Knowledge Distillation", section 3.2)."""
