/** Hooks emitted by the owner of sessions. */
import { denies, never, recorded } from "../hook-facts.ts";
import { defineHook } from "../hooks.ts";
import type { SessionEntry } from "./service.ts";

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const sessionHooks = {
  sessionReplacing: defineHook<{ key: string; reason: "new" | "reset" | "delete" }>()("gate", {
    name: "sessionReplacing",
    owner: "sessions",
    when: "A session is about to be reset or deleted.",
    returns: "A denial: the caller receives UNAVAILABLE.",
    throws: denies,
    deadlineMs: 20_000,
  }),
  sessionStarted: defineHook<{ key: string; entry: SessionEntry }>()("observe", {
    name: "sessionStarted",
    owner: "sessions",
    when: "A session received a new session id.",
    returns: never,
    throws: recorded,
  }),
  sessionEnded: defineHook<{ key: string; entry: SessionEntry; reason: "new" | "reset" | "delete" }>()("observe", {
    name: "sessionEnded",
    owner: "sessions",
    when: "A session id was retired.",
    returns: never,
    throws: recorded,
  }),
} as const;
