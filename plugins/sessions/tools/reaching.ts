/** Finds the sessions within reach of a session's tools. The rule is in `visibility.ts`. */
import { isGatewayError } from "@svc/sdk";
import type { Reach } from "../config.ts";
import { collect } from "../finding/listing.ts";
import { agentOf, canonicalKey, type KeyRules } from "../keys-routing/keys.ts";
import type { StoredSession } from "../store/entries.ts";
import type { ListFilter } from "../store/statements.ts";
import type { SessionStore } from "../store/store.ts";
import { isVisible, type SessionRef } from "./visibility.ts";

/** Choice: ancestors checked; sub-agents nest at most five deep. */
const MAX_DEPTH = 16;
/** Choice: sessions read of one tree of descendants. */
const MAX_TREE = 500;

export interface ReachingOptions {
  readonly store: Pick<SessionStore, "get" | "page">;
  /** Both are read at each use. */
  readonly rules: () => KeyRules;
  readonly reach: () => Reach;
}

/** Further conditions of a list. */
export interface Wanted {
  /** epoch ms; older ones are left out */
  readonly updatedSince: number | undefined;
  readonly accept: (session: StoredSession) => boolean;
  readonly limit: number;
}

export interface Reaching {
  mayTouch(from: string, target: string): Promise<boolean>;
  /** Visible sessions, newest first. */
  list(from: string, wanted: Wanted): Promise<readonly StoredSession[]>;
}

export function createReaching({ store, rules, reach }: ReachingOptions): Reaching {
  const refOf = (key: string): SessionRef => ({ key, agentId: agentOf(key, rules()) });

  /** Whether `key` is a descendant of `from`. */
  async function descends(key: string, from: string): Promise<boolean> {
    let current: string | undefined = key;
    for (let depth = 0; depth < MAX_DEPTH && current !== undefined; depth++) {
      const entry = await store.get(current);
      current = parentOf(entry?.spawnedBy, rules());
      if (current === from) return true;
    }
    return false;
  }

  /** All descendants of a session. */
  async function treeOf(from: string): Promise<readonly StoredSession[]> {
    const found = new Map<string, StoredSession>();
    const parents = [from];
    for (let parent = parents.shift(); parent !== undefined; parent = parents.shift()) {
      for (const child of await store.page({ spawnedBy: parent }, MAX_TREE - found.size)) {
        if (child.key === from || found.has(child.key)) continue;
        found.set(child.key, child);
        parents.push(child.key);
      }
      if (found.size >= MAX_TREE) break;
    }
    return [...found.values()];
  }

  /** The session itself and, for an agent's own main session in the global scope, `global`. */
  async function own(keys: readonly string[]): Promise<readonly StoredSession[]> {
    const entries = await Promise.all(keys.map(async (key) => ({ key, entry: await store.get(key) })));
    return entries.flatMap(({ key, entry }) => (entry ? [{ key, entry }] : []));
  }

  return {
    async mayTouch(from, target) {
      const refs = [refOf(from), refOf(target)] as const;
      if (isVisible(...refs, false, reach())) return true;
      return isVisible(...refs, true, reach()) && descends(target, from);
    },

    async list(from, { updatedSince, accept, limit }) {
      const { visibility, agentToAgent } = reach();
      const here = refOf(from);
      const tree = visibility === "self" ? [] : await treeOf(from);
      const descendants = new Set(tree.map(({ key }) => key));
      const isWanted = (session: StoredSession) =>
        isVisible(here, refOf(session.key), descendants.has(session.key), reach()) &&
        (updatedSince === undefined || session.entry.updatedAt >= updatedSince) &&
        accept(session);

      const filter: ListFilter =
        visibility === "all" && agentToAgent.enabled
          ? { updatedSince, includeGlobal: true }
          : { updatedSince, agentId: here.agentId };
      const isWide = visibility === "agent" || visibility === "all";
      const [mine, others] = await Promise.all([
        own(isWide ? [from, "global"] : [from]),
        isWide ? collect(store, filter, limit, { accept: isWanted }) : [],
      ]);
      const byKey = new Map([...mine, ...tree, ...others].map((session) => [session.key, session]));
      return [...byKey.values()]
        .filter(isWanted)
        .toSorted((left, right) => right.entry.updatedAt - left.entry.updatedAt)
        .slice(0, limit);
    },
  };
}

/** Clients may have stored any value. */
function parentOf(spawnedBy: unknown, rules: KeyRules): string | undefined {
  if (typeof spawnedBy !== "string" || spawnedBy === "") return undefined;
  try {
    return canonicalKey(spawnedBy, rules);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return undefined;
  }
}
