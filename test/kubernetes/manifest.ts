/** Renders a folder with kustomize, and checks it with Kubernetes' own schemas. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CronJob } from 'kubernetes-models/batch/v1';
import { ConfigMap, PersistentVolumeClaim, ServiceAccount } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';

const MODELS = { CronJob, ConfigMap, PersistentVolumeClaim, ServiceAccount };

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: Readonly<Record<string, string>> };
}

export async function kustomize(folder: string): Promise<Manifest[]> {
  const { stdout } = await promisify(execFile)('kubectl', ['kustomize', folder]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** Wrong types, missing fields, and fields outside the schema, which a cluster would drop silently. */
export function faultsOf(manifest: Manifest): string[] {
  const Model = MODELS[manifest.kind as keyof typeof MODELS];
  if (Model === undefined || Model.apiVersion !== manifest.apiVersion)
    return [`${manifest.apiVersion} ${manifest.kind} is none of ${Object.keys(MODELS).join(', ')}`];
  const unseen = new Set<string>();
  const model = new Model(manifest as never);
  for (const key of Object.keys(manifest))
    Object.assign(model, { [key]: watched((manifest as unknown as Record<string, unknown>)[key], `/${key}`, unseen) });
  try {
    model.validate();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  return [...unseen].map((path) => `${path} is no field that Kubernetes knows`);
}

/** Records every field below. The validator removes the fields that it checks, which are all fields that it knows. */
function watched(value: unknown, path: string, unseen: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const members = new Map(Object.entries(value).map(([key, member]) => [key, watched(member, `${path}/${key}`, unseen)]));
  for (const key of members.keys()) unseen.add(`${path}/${key}`);
  const see = (key: string | symbol): void => void unseen.delete(`${path}/${String(key)}`);
  return new Proxy(value, {
    get: (target, key) => {
      see(key);
      return typeof key === 'string' && members.has(key) ? members.get(key) : Reflect.get(target, key);
    },
    // Maps, such as labels, are walked by their keys.
    ownKeys: (target) => {
      for (const key of members.keys()) see(key);
      return Reflect.ownKeys(target);
    },
  });
}
