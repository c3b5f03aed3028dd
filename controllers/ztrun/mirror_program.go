package ztrun

import (
	"maps"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/ai-dossier/zt-operator/api/v1alpha1"
	"github.com/ai-dossier/zt-operator/internal/policy"
)

const (
	verdaccioConfigKey  = "config.yaml"
	verdaccioStorageDir = "/verdaccio/storage"
	proxpiStorageDir    = "/var/cache/proxpi"
	mirrorCAFile        = mirrorConfigDir + "/" + caCertKey
)

// mirrorProgram is how the mirror of one ecosystem wants to be run.
type mirrorProgram struct {
	// files below mirrorConfigDir, by name.
	files map[string]string
	// env names the run CA and, for a program without a configuration file, the rest.
	env []corev1.EnvVar
	// storage is the folder it caches in.
	storage string
	// memoryMiB it asks for: more than what it has before the first package.
	memoryMiB int32
}

// mirrorProgramOf is Verdaccio for npm and proxpi for Python's two managers.
func mirrorProgramOf(ecosystem v1alpha1.Ecosystem, squid *corev1.Service) mirrorProgram {
	proxy := net.JoinHostPort(squid.Spec.ClusterIP, strconv.Itoa(policy.SquidPort))
	switch ecosystem {
	case v1alpha1.EcosystemPip, v1alpha1.EcosystemUV:
		return mirrorProgram{
			files:     map[string]string{},
			env:       environment(policy.ProxpiEnvironment(policy.ProxpiParams{Proxy: proxy, CABundle: mirrorCAFile, Storage: proxpiStorageDir})),
			storage:   proxpiStorageDir,
			memoryMiB: 96,
		}
	default:
		return mirrorProgram{
			files: map[string]string{
				verdaccioConfigKey: policy.RenderVerdaccio(policy.VerdaccioParams{Proxy: proxy, Storage: verdaccioStorageDir}),
			},
			env:       environment(map[string]string{"NODE_EXTRA_CA_CERTS": mirrorCAFile}),
			storage:   verdaccioStorageDir,
			memoryMiB: 256,
		}
	}
}

// environment lists variables in a stable order.
func environment(variables map[string]string) []corev1.EnvVar {
	list := make([]corev1.EnvVar, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		list = append(list, corev1.EnvVar{Name: name, Value: variables[name]})
	}
	return list
}
