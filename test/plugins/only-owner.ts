/** The owner of a gateway that shares its state with no other. */
import type { Owner, Ownership } from "@svc/sdk/storage";

export function onlyOwner(): Owner {
  const always = { sql: "1 = 1", params: [] };
  return {
    id: "the only gateway/1",
    signal: new AbortController().signal,
    isCurrent: true,
    free: () => always,
    take: async () => true,
    seize: async () => undefined,
    release: async () => undefined,
    nudge: async () => undefined,
    end: async () => undefined,
    holds: () => always,
  };
}

export function onlyOwnership(): Ownership {
  const nothing = () => undefined;
  return {
    others: 0,
    lease: { leftMs: undefined, losses: 0 },
    members: async () => [],
    aheadMs: 0,
    owner: async () => onlyOwner(),
    changed: () => nothing,
    nudge: nothing,
    freed: nothing,
  };
}
