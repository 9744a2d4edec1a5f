/** Groups references by provider and splits each group into batches within the limits. Pure. */
import type { SecretRef } from "@svc/sdk/secrets";
import { providerOf, type SecretsConfig } from "./config.ts";
import type { Named } from "./outcome.ts";

/** Adds the provider that the reference uses, and its key. */
export function named(ref: SecretRef, config: Pick<SecretsConfig, "defaults">): Named {
  const { source, id } = ref;
  const provider = providerOf(ref, config);
  return { key: JSON.stringify([source, provider, id]), source, provider, id };
}

/** Groups references by source and provider; duplicates are dropped. */
export function byProvider(refs: readonly Named[]): readonly (readonly [Named, ...Named[]])[] {
  const groups = new Map<string, [Named, ...Named[]]>();
  for (const ref of new Map(refs.map((one) => [one.key, one])).values()) {
    const key = JSON.stringify([ref.source, ref.provider]);
    const group = groups.get(key);
    if (group) group.push(ref);
    else groups.set(key, [ref]);
  }
  return [...groups.values()];
}

/** Choice: a provider with more references than fit into one batch gets several batches, one after the other. */
export function batches(
  refs: readonly Named[],
  { maxRefsPerProvider, maxBatchBytes }: SecretsConfig["resolution"],
): Named[][] {
  const all: Named[][] = [];
  let bytes = 0;
  for (const ref of refs) {
    const size = idBytes(ref);
    const last = all.at(-1);
    if (last && last.length < maxRefsPerProvider && bytes + size <= maxBatchBytes) {
      last.push(ref);
      bytes += size;
    } else {
      all.push([ref]);
      bytes = size;
    }
  }
  return all;
}

/** Bytes that an id takes in a batch. */
export function idBytes({ id }: Pick<Named, "id">): number {
  return Buffer.byteLength(JSON.stringify(id)) + 1;
}
