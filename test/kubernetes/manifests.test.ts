/** Checks `jobs/kubernetes/` as a cluster would get it. */
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CronJob } from 'kubernetes-models/batch/v1';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/util/errors.ts';
import { compileJob, loadJobFile } from '../../src/definition/compile-job.ts';
import { compileRunOptions } from '../../src/definition/run-options.ts';
import { DRAIN_MS } from '../../src/job/run/open-calls.ts';
import { faultsOf, kustomize, type Manifest } from './manifest.ts';

const NOW = new Date('2026-11-21');

const ROOT = fileURLToPath(new URL('../../jobs/kubernetes/', import.meta.url));
const folders = globSync('{base,overlays/*}', { cwd: ROOT });

const built = new Map<string, Manifest[]>();
try {
  for (const folder of folders) built.set(folder, await kustomize(join(ROOT, folder)));
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || process.env['CI'] === 'true') throw error;
  process.stderr.write('\nSKIPPED: the checks of jobs/kubernetes/ need kubectl in the PATH: https://kubernetes.io/docs/tasks/tools/\n\n');
}
const check = test.skipIf(built.size === 0);

const manifest = (folder: string, kind: string): Manifest => {
  const found = built.get(folder)?.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`${folder} has no ${kind}`);
  return found;
};
const cronJob = (folder: string): NonNullable<CronJob['spec']> =>
  (manifest(folder, 'CronJob') as unknown as { spec: NonNullable<CronJob['spec']> }).spec;

test('there is a base, an overlay for each way to S3, and one for a night in shards', () => {
  expect(folders.sort()).toEqual(['base', 'overlays/aws', 'overlays/other-s3', 'overlays/sharded']);
});

check('the check finds wrong types, missing fields and unknown ones', () => {
  const good = manifest('base', 'CronJob');
  const broken = (change: (spec: Record<string, unknown>) => void): string[] => {
    const copy = structuredClone(good) as Manifest & { spec: Record<string, unknown> };
    change(copy.spec);
    return faultsOf(copy);
  };
  expect(broken(() => undefined)).toEqual([]);
  expect(broken((spec) => (spec['startingDeadlineSeconds'] = 'soon'))).toEqual([expect.stringContaining('startingDeadlineSeconds')]);
  expect(broken((spec) => delete spec['schedule'])).toEqual([expect.stringContaining('schedule')]);
  expect(broken((spec) => (spec['timezone'] = 'Etc/UTC'))).toEqual(['/spec/timezone is no field that Kubernetes knows']);
  expect(
    broken(
      (spec) =>
        ((
          (spec['jobTemplate'] as { spec: { podFailurePolicy: { rules: { onExitCode?: object }[] } } }).spec.podFailurePolicy.rules[0] ?? {}
        ).onExitCode = {}),
    ),
  ).toEqual([expect.stringContaining('onExitCode')]);
});

check.each(folders)('%s: every field is one that Kubernetes knows, of the right type', (folder) => {
  expect((built.get(folder) ?? []).flatMap(faultsOf)).toEqual([]);
});

check.each(folders)('%s: the schedule', (folder) => {
  expect(cronJob(folder)).toMatchObject({
    concurrencyPolicy: 'Forbid',
    timeZone: 'Etc/UTC',
    startingDeadlineSeconds: expect.any(Number),
    successfulJobsHistoryLimit: expect.any(Number),
    failedJobsHistoryLimit: expect.any(Number),
  });
});

check.each(folders)('%s: each exit code ends the job or is tried again, as the contract says', (folder) => {
  const rules = cronJob(folder).jobTemplate.spec?.podFailurePolicy?.rules ?? [];
  const codes = (action: string): number[] =>
    rules.filter((rule) => rule.action === action).flatMap(({ onExitCodes }) => onExitCodes?.values ?? []);
  expect(codes('FailJob')).toEqual([1, 64, 65, 70, 77, 78]);
  expect(codes('Count')).toEqual([69, 74, 75]);
  expect([0, ...codes('FailJob'), ...codes('Count')].sort((one, other) => one - other)).toEqual(
    Object.values(EXIT).sort((one, other) => one - other),
  );
  expect(rules.filter(({ action }) => action === 'Ignore').flatMap(({ onPodConditions }) => onPodConditions)).toEqual([
    { type: 'DisruptionTarget', status: 'True' },
  ]);
});

check.each(folders)('%s: the pod may do nothing that it need not', (folder) => {
  const pod = cronJob(folder).jobTemplate.spec?.template.spec;
  expect(pod).toMatchObject({
    restartPolicy: 'Never',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect((pod?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(DRAIN_MS + 10_000);
  const [container] = pod?.containers ?? [];
  expect(container).toMatchObject({
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    resources: { requests: expect.anything(), limits: { memory: expect.anything() } },
  });
  // Every mount has its volume, and the rules name the container.
  expect(container?.volumeMounts?.map(({ name }) => name).sort()).toEqual(pod?.volumes?.map(({ name }) => name).sort());
  expect(
    cronJob(folder).jobTemplate.spec?.podFailurePolicy?.rules.every(
      ({ onExitCodes }) => onExitCodes === undefined || onExitCodes.containerName === container?.name,
    ),
  ).toBe(true);
});

check.each(folders)('%s: the kubelet and Prometheus find the monitor', (folder) => {
  const template = cronJob(folder).jobTemplate.spec?.template;
  const [container] = template?.spec?.containers ?? [];
  const { options } = compileRunOptions(
    { MILLRACE_MONITOR: container?.env?.find(({ name }) => name === 'MILLRACE_MONITOR')?.value ?? '', KUBERNETES_SERVICE_HOST: '10.0.0.1' },
    new Map(),
  );
  expect(options.monitor?.host).toBeNull();
  expect(container?.ports).toEqual([{ name: 'monitor', containerPort: options.monitor?.port }]);
  expect(container?.livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 'monitor' });
  expect(template?.metadata?.annotations).toMatchObject({
    'prometheus.io/scrape': 'true',
    'prometheus.io/port': String(options.monitor?.port),
  });
});

check.each(folders)('%s: the key is a file of a Secret, and no manifest holds one', (folder) => {
  const pod = cronJob(folder).jobTemplate.spec?.template.spec;
  const file = pod?.containers[0]?.env?.find(({ name }) => name === 'MILLRACE_API_KEY_FILE')?.value ?? '';
  const mount = pod?.containers[0]?.volumeMounts?.find(({ mountPath }) => file.startsWith(`${mountPath}/`));
  expect(pod?.volumes?.find(({ name }) => name === mount?.name)?.secret).toMatchObject({ secretName: 'millrace-api-key' });
  expect(built.get(folder)?.map(({ kind }) => kind)).not.toContain('Secret');
});

check.each(folders)('%s: the job in the ConfigMap is one, for the day that the name of the CronJob’s Job says', async (folder) => {
  const pod = cronJob(folder).jobTemplate.spec?.template.spec;
  const { name, data } = manifest(folder, 'ConfigMap') as Manifest & { name?: string; data: Record<string, string> };
  expect(name).toBeUndefined();
  expect(pod?.volumes?.find(({ name: volume }) => volume === 'job')?.configMap?.name).toBe(manifest(folder, 'ConfigMap').metadata.name);
  const [command, path = ''] = pod?.containers[0]?.args ?? [];
  expect([command, path]).toEqual(['run', '/etc/millrace/nightly.yaml']);
  const env = pod?.containers[0]?.env ?? [];
  expect(env.find(({ name: variable }) => variable === 'MILLRACE_DATE')?.valueFrom?.fieldRef?.fieldPath).toBe(
    "metadata.labels['batch.kubernetes.io/job-name']",
  );

  const scratch = await mkdtemp(join(tmpdir(), 'millrace-manifest-'));
  onTestFinished(() => rm(scratch, { recursive: true }));
  const file = join(scratch, 'nightly.yaml');
  await writeFile(file, data['nightly.yaml'] ?? '');
  // The Job of 2026-11-20 02:30, whose pod is restarted after midnight.
  const { date } = compileRunOptions({ MILLRACE_DATE: `${manifest(folder, 'CronJob').metadata.name}-29919030` }, new Map());
  // The pod's variables from Secrets, and no others.
  const secrets = Object.fromEntries(
    env.flatMap(({ name: variable, valueFrom }) => (valueFrom?.secretKeyRef === undefined ? [] : [[variable, 'secret']])),
  );
  const { job, warnings } = compileJob({ file: await loadJobFile(file), env: secrets, flags: new Map(), date, now: NOW });
  expect(warnings).toEqual([]);
  expect(job.input.uris).toEqual(['s3://acme-leads/2026-11-20/*.csv.gz']);
  expect(job.output.uri).toMatch(/\/(?:leads-)?2026-11-20\b.*\.jsonl\.gz$/);
  // The state for a retry must outlive the pod: it is in the volume or, without one, on servers.
  const volume = pod?.volumes?.find(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined);
  expect(built.get(folder)?.some(({ kind }) => kind === 'PersistentVolumeClaim')).toBe(volume !== undefined);
  const durable =
    volume === undefined
      ? /^(?:s3|rediss?):\/\//
      : new RegExp(`^${pod?.containers[0]?.volumeMounts?.find(({ name: mounted }) => mounted === volume.name)?.mountPath}/`);
  for (const uri of [job.output.uri, job.checkpoint.uri, job.ledger.uri]) expect(uri).toMatch(durable);
  // Concurrent pods share the plan and the paid answers. No manifest contains the password.
  const redis = cronJob(folder).jobTemplate.spec?.completionMode === 'Indexed' ? 'redis://:secret@redis.millrace.svc:6379/0' : null;
  expect(job.providers[0]?.quota).toBe(redis);
  if (redis !== null) expect(job.ledger.uri).toBe(redis);
});

check.each(folders)('%s: tools that prune keep the ConfigMap of a night that is under way', (folder) => {
  expect(manifest(folder, 'ConfigMap').metadata.annotations).toEqual({
    'argocd.argoproj.io/sync-options': 'Prune=false',
    'kustomize.toolkit.fluxcd.io/prune': 'disabled',
  });
});

check('the overlays lead to S3: by a role, and by keys of a Secret', () => {
  expect(manifest('overlays/aws', 'ServiceAccount').metadata.annotations).toMatchObject({
    'eks.amazonaws.com/role-arn': expect.stringMatching(/^arn:aws:iam::/),
  });
  const other = cronJob('overlays/other-s3').jobTemplate.spec?.template.spec?.containers[0]?.env?.map(({ name }) => name);
  expect(other).toEqual(expect.arrayContaining(['AWS_ENDPOINT_URL', 'AWS_REGION', 'AWS_SHARED_CREDENTIALS_FILE']));
});

check('the night in shards: each index is one, all at once, each on whichever node has room', () => {
  const spec = cronJob('overlays/sharded').jobTemplate.spec;
  const pod = spec?.template.spec;
  expect(spec).toMatchObject({ completionMode: 'Indexed', backoffLimitPerIndex: expect.any(Number) });
  // It would count the retries of all shards together.
  expect(spec?.backoffLimit).toBeUndefined();
  const env = Object.fromEntries(
    pod?.containers[0]?.env?.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])) ?? [],
  ) as NodeJS.ProcessEnv;
  const shards = Array.from(
    { length: spec?.completions ?? 0 },
    (_, index) => compileRunOptions({ ...env, JOB_COMPLETION_INDEX: String(index) }, new Map()).options.shard,
  );
  expect(shards).toEqual([0, 1, 2, 3].map((index) => ({ index, of: 4 })));
  expect(spec?.parallelism).toBe(spec?.completions);
  // Nothing binds the pods to one node: no volume, no affinity. Their own labels spread them.
  expect(pod?.affinity).toBeUndefined();
  expect(pod?.volumes?.filter(({ configMap, secret, emptyDir }) => (configMap ?? secret ?? emptyDir) === undefined)).toEqual([]);
  const [spread] = pod?.topologySpreadConstraints ?? [];
  expect(spread).toMatchObject({ topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' });
  expect(spec?.template.metadata?.labels).toMatchObject(spread?.labelSelector?.matchLabels ?? { none: true });
});

check.each(folders)('%s: /tmp has an end, and the pod is not evicted before it is reached', (folder) => {
  const pod = cronJob(folder).jobTemplate.spec?.template.spec;
  const MiB = (size: unknown): number => {
    const [, number, unit] = /^(\d+)(Mi|Gi)$/.exec(String(size)) ?? [];
    return Number(number) * (unit === 'Gi' ? 1_024 : 1);
  };
  const tmp = pod?.containers[0]?.volumeMounts?.find(({ mountPath }) => mountPath === '/tmp')?.name;
  const size = MiB(pod?.volumes?.find(({ name }) => name === tmp)?.emptyDir?.sizeLimit);
  expect(size).toBeGreaterThan(0);
  expect(MiB(pod?.containers[0]?.resources?.limits?.['ephemeral-storage'])).toBeGreaterThan(size);
});
