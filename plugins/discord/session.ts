/** The session of an account with Discord, stored: after a restart of the gateway, Discord repeats what was written meanwhile. */
import { createHash } from "node:crypto";
import type { SessionInfo } from "@discordjs/ws";
import { lazy, Type } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
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

export interface StoredSession {
  /** The session to resume; its bot and roles are then in the memory. `undefined`: none of this login. */
  read(): Promise<SessionInfo | undefined>;
  /** @param session its sequence is that of the last event that was processed @throws GatewayError `UNAVAILABLE` */
  save(session: SessionInfo): Promise<void>;
}

/** @param login what a session depends on: with another token or other intents, it is not resumed */
export function storedSession(
  { openState }: Pick<ChannelRun, "openState">,
  login: readonly unknown[],
  memory: Memory,
): StoredSession {
  const digest = createHash("sha256").update(JSON.stringify(login)).digest("hex");
  const opened = lazy(() => openState(Stored));
  return {
    async read() {
      const { value } = await opened();
      if (value?.login !== digest) return undefined;
      memory.self = value.self;
      for (const [server, role] of Object.entries(value.ownRoles)) memory.ownRoles.set(server, role);
      return value.session;
    },
    async save(session) {
      const { self, ownRoles } = memory;
      if (!self) return;
      await (await opened()).write({ login: digest, session, self, ownRoles: Object.fromEntries(ownRoles) });
    },
  };
}
