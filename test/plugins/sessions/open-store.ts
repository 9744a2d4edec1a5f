/** A session store on the real database, in a directory of its own. */
import type { AssistantMessage, Message, Storage, UserMessage } from "@svc/sdk/services";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { SessionStore } from "../../../plugins/sessions/store.ts";
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
  /** Milliseconds from here on. */
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

export async function openStore(t: TestContext, mainKey = "main") {
  const storage = await openTestStorage(t);
  const clock = new FakeClock();
  const store = new SessionStore({ storage: () => storage, clock });
  await store.open(mainKey);
  return { storage, clock, store };
}

export function user(text: string): UserMessage {
  return { role: "user", content: [{ type: "text", text }], timestamp: NOON };
}

export function assistant(text: string, others: AssistantMessage["content"] = []): Message {
  const content = [...others, ...(text === "" ? [] : [{ type: "text" as const, text }])];
  return { role: "assistant", content, api: "test", provider: "p", model: "m", stopReason: "stop", timestamp: NOON };
}
