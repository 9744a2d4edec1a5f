/** A session store on a real database in its own directory. */
import type { AssistantMessage, Message, UserMessage } from "@svc/sdk/models";
import type { Storage } from "@svc/sdk/storage";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createDamageLog } from "../../../plugins/sessions/store/damage.ts";
import { SessionStore } from "../../../plugins/sessions/store/store.ts";
import { Transcripts } from "../../../plugins/sessions/transcripts/transcripts.ts";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

/** 2026-03-02T12:00:00Z */
export const NOON = 1_772_452_800_000;

export class FakeClock {
  #now = NOON;
  now(): number {
    return this.#now;
  }
  elapsed(): number {
    return this.#now;
  }
  /** Moves the clock on, in milliseconds. */
  advance(ms: number): void {
    this.#now += ms;
  }
}

export async function openTestStorage(t: TestContext): Promise<Storage> {
  const directory = await mkdtemp(join(tmpdir(), "svc-sessions-"));
  const { storage, close } = await openStorage({ file: join(directory, "state.db") });
  t.after(async () => {
    await close();
    await rm(directory, { recursive: true, force: true });
  });
  return storage;
}

/** `damaged`: the logged fields about unreadable rows. */
export async function openStore(t: TestContext, mainKey = "main") {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const damaged: object[] = [];
  const damage = createDamageLog({ error: (fields) => void damaged.push(fields) });
  const store = new SessionStore({ storage: () => storage, clock, damage });
  const transcripts = new Transcripts({ storage: () => storage, clock, damage });
  await store.open(mainKey);
  return { storage, clock, store, transcripts, damage, damaged };
}

export function user(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }], timestamp: NOON };
}

export function assistant(text: string, others: AssistantMessage["content"] = []): Message {
  const content = [...others, ...(text === "" ? [] : [{ type: "text" as const, text }])];
  return { role: "assistant", content, api: "test", provider: "p", model: "m", stopReason: "stop", timestamp: NOON };
}
