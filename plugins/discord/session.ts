/** The session of an account with Discord, in a file: after a restart of the gateway, Discord repeats what was written meanwhile. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { SessionInfo } from "@discordjs/ws";
import { matches, type Static, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { Memory } from "./memory.ts";

/** Discord sends the bot and its roles once in a session. */
const Stored = Type.Object({
  /** Digest of what the session was opened with. */
  login: Type.String(),
  session: Type.Object({
    sessionId: Type.String(),
    resumeURL: Type.String(),
    sequence: Type.Integer(),
    shardId: Type.Integer(),
    shardCount: Type.Integer(),
  }),
  self: Type.Object({ id: Type.String(), name: Type.String(), applicationId: Type.String() }),
  ownRoles: Type.Record(Type.String(), Type.String()),
});
type Stored = Static<typeof Stored>;

export interface SessionFile {
  /** The session to resume; its bot and roles are then in the memory. `undefined`: none of this login. */
  read(): Promise<SessionInfo | undefined>;
  /** @param session its sequence is that of the last event that was processed @throws Error of the file system */
  save(session: SessionInfo): Promise<void>;
}

/** @param login what a session depends on: with another token or other intents, it is not resumed */
export function sessionFile(file: string, login: readonly unknown[], memory: Memory): SessionFile {
  const digest = createHash("sha256").update(JSON.stringify(login)).digest("hex");
  let saved = "";
  let saving = Promise.resolve();
  return {
    async read() {
      const stored = await readStored(file);
      if (stored?.login !== digest) return undefined;
      memory.self = stored.self;
      for (const [server, role] of Object.entries(stored.ownRoles)) memory.ownRoles.set(server, role);
      return stored.session;
    },
    save(session) {
      const { self, ownRoles } = memory;
      const content = JSON.stringify({ login: digest, session, self, ownRoles: Object.fromEntries(ownRoles) });
      const write = async () => {
        if (content === saved) return;
        await replaceFile(file, content);
        saved = content;
      };
      saving = saving.catch(() => {}).then(write); // one write at a time
      return saving;
    },
  };
}

async function readStored(file: string): Promise<Stored | undefined> {
  try {
    const stored: unknown = JSON.parse(await readFile(file, "utf8"));
    return matches(Stored, stored) ? stored : undefined;
  } catch {
    return undefined; // the first run, or a file that somebody changed: Discord then opens a new session
  }
}
