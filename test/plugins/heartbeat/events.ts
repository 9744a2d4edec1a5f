/** A queue of events on a real storage. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { GATEWAY_WORDS } from "@svc/sdk";
import type { HeartbeatSettings, SystemEvent } from "@svc/sdk/heartbeat";
import type { Storage } from "@svc/sdk/storage";
import { EventStore } from "../../../plugins/heartbeat/event-store.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

export const KEY = "agent:main:main";

/** Valid settings; each case changes one. */
export const SETTINGS: HeartbeatSettings = {
  every: "30m",
  target: "last",
  session: "main",
  ackMaxChars: 300,
  includeReasoning: false,
  directPolicy: "allow",
  lightContext: false,
};

/** A valid event; each case changes one field. */
export const event = (id: string, changes: Partial<SystemEvent> = {}): SystemEvent => ({
  id,
  sessionKey: KEY,
  text: `text of ${id}`,
  wake: "next-heartbeat",
  reason: "test",
  origin: GATEWAY_WORDS,
  at: 1_000,
  ...changes,
});

/** `broken.transactions`: writes fail. `broken.reads`: reads wait for it. */
export async function openEvents(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), "svc-events-"));
  const { storage: real, close } = await openStorage({ file: join(directory, "svc.db") });
  t.after(async () => {
    await close();
    await rm(directory, { recursive: true, force: true });
  });
  const broken: { transactions?: () => Promise<never>; reads?: Promise<void> } = {};
  const storage: Storage = {
    ...real,
    all: async (sql, params) => (await broken.reads, real.all(sql, params)),
    transaction: (all) => broken.transactions?.() ?? real.transaction(all),
  };
  const store = new EventStore(storage);
  await store.open();
  const add = async (...events: SystemEvent[]) => {
    await real.transaction(events.flatMap((one) => store.add(one, 5_000)));
  };
  const ids = async (key = KEY) => (await store.waiting(key)).map(({ id }) => id);
  return { storage, store, add, ids, broken };
}
