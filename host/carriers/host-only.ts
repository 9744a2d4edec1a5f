/** Tracks which plugins can run only in the gateway, so that a configuration that places one elsewhere is rejected before it is written. */
import type { AnyKind, KernelHooks, Staged } from "../kernel/kind.ts";
import type { Placement } from "../kernel/manifest.ts";
import { unreachableService, unreachableText } from "./isolated-plugin.ts";

/** The keys of `plugins.entries` that determine where plugins run. */
type Entries = Readonly<Record<string, { readonly run?: Placement }>>;

export interface HostOnly {
  /** Why a plugin cannot run where these entries place it, with the next step; `undefined`: no known conflict. */
  refusal(next: Entries, previous: Entries): string | undefined;
}

/** @param kinds all kinds of declaration */
export function watchHostOnly({ commit }: Pick<KernelHooks, "commit">, kinds: readonly AnyKind[]): HostOnly {
  const reasons = new Map<string, string | undefined>();
  commit.tap("host-only", (staged) => void reasons.set(staged.plugin.id, reasonOf(staged, kinds)));
  return {
    refusal(next, previous) {
      for (const [id, { run = "host" }] of Object.entries(next)) {
        const reason = run === "host" || previous[id]?.run === run ? undefined : reasons.get(id);
        if (reason !== undefined)
          return `plugins.entries.${id}.run: ${id} cannot run in a ${run}: ${reason}; set it to host`;
      }
      return undefined;
    },
  };
}

function reasonOf({ plugin, declared }: Staged, kinds: readonly AnyKind[]): string | undefined {
  const service = unreachableService(plugin);
  if (service) return unreachableText(service);
  for (const kind of kinds)
    for (const entry of declared.of(kind)) {
      const reason = kind.refuse?.(entry);
      if (reason !== undefined) return `the ${kind.noun} ${kind.describe(entry).name}: ${reason}`;
    }
  return undefined;
}
