package testenv

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Image returns the image of Sluice itself, which SLUICE_IMAGE names; scripts/test.sh builds it. The test is left out without
// it, without Docker, and without its command line and compose.
func Image(t testing.TB) string {
	t.Helper()
	needDocker(t)
	if _, err := exec.LookPath("docker"); err != nil {
		leaveOut(t, "Docker's command line", err)
	}
	if exec.Command("docker", "compose", "version").Run() != nil {
		if _, err := exec.LookPath("docker-compose"); err != nil {
			leaveOut(t, "docker compose or docker-compose", err)
		}
	}
	image := os.Getenv("SLUICE_IMAGE")
	if image == "" {
		leaveOut(t, "SLUICE_IMAGE, see make image", errors.New("not set"))
	}
	return image
}
