import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/heddle.ts';
import { installedPath, requireFrom } from '../../support/outside-programs.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'deploy/kubernetes');
const schemas = installedPath('kubernetes-schemas', 'kubernetes-models');
const load = requireFrom('kubernetes-schemas');

// biome-ignore lint/suspicious/noExplicitAny: tests read and break manifests at every depth
type Manifest = any;

function manifestsOf(file: string): Manifest[] {
  const { parseAllDocuments } = load('yaml');
  return parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document: Manifest) => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    return document.toJS();
  });
}

/** Returns the message of the Kubernetes schemas about a manifest. They accept unknown members. */
function faultsOf(manifest: Manifest): string {
  const { apiVersion, kind } = manifest;
  const Model = load(`kubernetes-models/${apiVersion}`)[kind];
  try {
    new Model(manifest).validate();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Compiles manifests as literals of the Kubernetes types, and returns the errors, which include unknown members. */
function misspellingsIn(manifests: Manifest[]): string {
  const at = temporaryFolder();
  symlinkSync(dirname(schemas!), join(at, 'node_modules'));
  const programs = manifests.map((manifest) => {
    const { apiVersion, kind } = manifest;
    return `{ const _: import('kubernetes-models/${apiVersion}').I${kind} = ${JSON.stringify(manifest)}; }`;
  });
  writeFileSync(join(at, 'manifests.ts'), programs.join('\n'));
  const flags = '--strict --noEmit --target es2023 --module nodenext --skipLibCheck --ignoreConfig --types'.split(' ');
  const compiler = join(root, 'node_modules/typescript/lib/tsc.js');
  try {
    execFileSync(process.execPath, [compiler, ...flags, '', join(at, 'manifests.ts')], { encoding: 'utf8', cwd: at });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** Applies a strategic merge patch: lists merge by name, and null removes a member. */
function patched(base: Manifest, patch: Manifest): Manifest {
  if (Array.isArray(patch) && patch.every(({ name }) => name)) {
    const before: Manifest[] = base ?? [];
    const deleted = patch.filter(({ $patch }) => $patch === 'delete').map(({ name }) => name);
    const added = patch.filter(({ name }) => !deleted.includes(name));
    const kept = before.filter(({ name }) => !patch.some((each) => each.name === name));
    return [...kept, ...added.map((each) => patched(before.find(({ name }) => name === each.name) ?? {}, each))];
  }
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const changed = Object.entries(patch).map(([name, value]) => [
    name,
    patched(base[name] ?? (Array.isArray(value) ? [] : {}), value),
  ]);
  return Object.fromEntries(
    Object.entries({ ...base, ...Object.fromEntries(changed) }).filter(([, value]) => value !== null),
  );
}

const files = readdirSync(folder);

describe.skipIf(!schemas)('the manifests for Kubernetes', () => {
  it('are valid and have only known members', () => {
    const manifests = files.flatMap(manifestsOf);
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Deployment heddle-service',
      'Service heddle-service',
      'PodDisruptionBudget heddle-service',
      'Deployment heddle',
      'Service heddle',
      'Ingress heddle',
      'PodDisruptionBudget heddle',
    ]);
    for (const manifest of manifests)
      expect([manifest.metadata.name, faultsOf(manifest)]).toEqual([manifest.metadata.name, '']);
    expect(misspellingsIn(manifests)).toBe('');
  });

  it('are invalid with a wrong value or an unknown member', () => {
    const [deployment] = manifestsOf('heddle.yaml');
    const [container] = deployment.spec.template.spec.containers;
    container.ports[0].containerPort = 'http';
    expect(faultsOf(deployment)).toContain('containers/0/ports/0/containerPort must be integer');
    container.ports[0].containerPort = 3920;
    container.securityContext.readOnlyRootFileSystem = true;
    expect(misspellingsIn([deployment])).toContain('\'"readOnlyRootFileSystem"\' does not exist');
  });

  it('are valid with the patch for subjects, which removes the single account', () => {
    const [deployment] = manifestsOf('heddle.yaml');
    const [patch] = manifestsOf('../kubernetes-subjects.yaml');
    const together = patched(deployment, patch);
    expect(faultsOf(together)).toBe('');
    expect(misspellingsIn([together])).toBe('');
    const { initContainers, containers, volumes } = together.spec.template.spec;
    expect(containers).toHaveLength(1);
    expect(containers[0].envFrom).toBeUndefined();
    expect(containers[0].args).toEqual(deployment.spec.template.spec.containers[0].args);
    const names = containers[0].env.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['HEDDLE_OAUTH_ISSUER', 'HEDDLE_SUBJECTS', 'XDG_CONFIG_HOME']);
    expect(initContainers[0].image).toBe(containers[0].image);
    const mounted = [...initContainers, ...containers].flatMap(({ volumeMounts }) =>
      volumeMounts.map(({ name }: { name: string }) => name),
    );
    expect(new Set(mounted)).toEqual(new Set(volumes.map(({ name }: { name: string }) => name)));
  });

  it.each(['heddle.yaml', 'heddle-service.yaml'])('have matching labels, ports and limits in %s', (file) => {
    const [deployment, service, ...others] = manifestsOf(file);
    const { template, selector } = deployment.spec;
    const [container] = template.spec.containers;
    const labels = template.metadata.labels;
    const budget = others.find(({ kind }) => kind === 'PodDisruptionBudget');
    for (const wanted of [selector.matchLabels, service.spec.selector, budget.spec.selector.matchLabels]) {
      expect(wanted).toEqual(labels);
    }
    expect(budget.spec.minAvailable).toBeLessThan(deployment.spec.replicas);
    const ports = container.ports.map(({ name }: { name: string }) => name);
    for (const { targetPort } of service.spec.ports) expect(ports).toContain(targetPort);
    // Running calls get 10 s after the pause in which the last requests arrive.
    const pause = container.lifecycle.preStop.sleep.seconds;
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(pause + 10);
    expect(template.spec.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
    // The repository contains no secret.
    const secret = container.env.filter(({ name }: { name: string }) => /PASSWORD|TOKEN|KEY|DATABASE/.test(name));
    expect(secret.map(({ value }: { value?: string }) => value).filter(Boolean)).toEqual([]);
  });
});
