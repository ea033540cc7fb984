package meilisearch

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
)

// meanFile keeps the mean of the vectors over a restart, which the scores
// of meaning are measured from.
const meanFile = "vectors-mean.json"

func loadMean(dir string) (mean []float32) {
	if dir == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(dir, meanFile))
	if err != nil || json.Unmarshal(data, &mean) != nil {
		return nil
	}
	return mean
}

func saveMean(dir string, mean []float32, log *slog.Logger) {
	if dir == "" {
		return
	}
	name := filepath.Join(dir, meanFile)
	data, err := json.Marshal(mean)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(name+".tmp", data, 0o600)
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err != nil {
		log.Warn("what scores are measured from can't be kept; after a restart they go by words until pages change", "file", name, "error", err)
	}
}
