/** Creates the session of `sessions.create`. */
import { createHash, randomUUID } from "node:crypto";
import { type Clock, GatewayError, invalidRequest, notFound, type ParamsOf } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import { ownSessionKey, type SessionEntry, type sessions } from "@svc/sdk/sessions";
import { agentOf, canonicalKey, keyOfAgent, type KeyRules, parseKey } from "../keys-routing/keys.ts";
import type { Lifecycle } from "../lifecycle/lifecycle.ts";
import { patched, type PatchContext, type PatchParams } from "../patching/patching.ts";
import { inheritedFields } from "../store/entries.ts";
import type { SessionStore } from "../store/store.ts";
import { cutAtWord, oneLine } from "../transcripts/text.ts";

export type CreateParams = ParamsOf<typeof sessions.create>;

/** Characters of a display name that is made from a text. Choice: as many as a derived title has. */
const NAME_CHARS = 60;

export interface CreateOptions {
  readonly store: SessionStore;
  readonly lifecycle: Pick<Lifecycle, "announceStart">;
  readonly clock: Pick<Clock, "now">;
  /** Read at each use: the default agent may change. */
  readonly rules: () => KeyRules;
  readonly agents: () => Pick<AgentDirectory, "has"> | undefined;
  /** As for `patched`, for a canonical key. */
  readonly contextOf: (key: string) => Omit<PatchContext, "key" | "now" | "sessionId">;
}

/** A session, new or as it was. */
export interface CreatedSession {
  /** Canonical. */
  readonly key: string;
  readonly entry: SessionEntry;
}

/**
 * Creates the session, or finds the one that an equal call has created.
 * @param caller whose idempotency keys are not those of others
 * @throws GatewayError `CONFLICT` if it exists with other settings, `NOT_FOUND` for an unknown agent, and as `patched`
 */
export type CreateSession = (params: CreateParams, caller: string) => Promise<CreatedSession>;

export function createCreate({ store, lifecycle, clock, rules, agents, contextOf }: CreateOptions): CreateSession {
  return async (params, caller) => {
    const { key, parentSessionKey } = keysOf(params, rules(), caller);
    const agentId = agentOf(key, rules());
    if (agents()?.has(agentId) === false) notFound(`no agent "${agentId}"; see agents.list`);
    const parent = parentSessionKey === undefined ? undefined : await store.get(parentSessionKey);

    const context = { ...contextOf(key), key, now: clock.now(), sessionId: store.newSessionId() };
    const base = { ...inheritedFields(parent), sessionId: context.sessionId, updatedAt: context.now };
    const settings = settingsOf(params, key);
    const more = { ...namesOf(params), ...(parentSessionKey !== undefined && { parentSessionKey }) };
    const asked = { ...patched(undefined, settings, context), ...more };
    const fresh = { ...patched(base, settings, context), ...more };

    const decide = (old: SessionEntry | undefined) => (old ? checkSame(old, asked, params, key) : fresh);
    const { label: uniqueLabel } = asked;
    const { old, entry } = await store.change(key, decide, uniqueLabel === undefined ? {} : { uniqueLabel });
    if (!old) lifecycle.announceStart(key, entry);
    return { key, entry };
  };
}

/** The key of the session, and that of its parent. */
function keysOf({ key, agentId, parentSessionKey, idempotencyKey }: CreateParams, rules: KeyRules, caller: string) {
  const given = agentId?.trim().toLowerCase();
  const parent =
    parentSessionKey === undefined
      ? undefined
      : canonicalKey(given === undefined ? parentSessionKey : ownSessionKey(parentSessionKey, given), rules);
  const agent = given ?? (parent === undefined ? undefined : parseKey(parent)?.agentId) ?? rules.defaultAgentId;
  const own = key === undefined ? newKey(idempotencyKey, `${caller}\n${agent}`) : key;
  const canonical = keyOfAgent(ownSessionKey(own, agent), given, rules);
  if (canonical === parent) invalidRequest(`key and parentSessionKey are both "${canonical}"; use another key`);
  return { key: canonical, parentSessionKey: parent };
}

/** Choice: the form that clients expect of a session without a name. */
function newKey(idempotencyKey: string | undefined, scope: string): string {
  return `dashboard:${idempotencyKey === undefined ? randomUUID() : derivedId(scope, idempotencyKey)}`;
}

/** An id in the form of a UUID that is the same for the same texts, so that a repeated call finds what the first one created. */
export function derivedId(...texts: readonly string[]): string {
  const hex = createHash("sha256").update(JSON.stringify(texts)).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

function settingsOf({ label, category, model, thinkingLevel }: CreateParams, key: string): PatchParams {
  return {
    key,
    ...(label !== undefined && { label }),
    ...(category !== undefined && { category }),
    ...(model !== undefined && { model }),
    ...(thinkingLevel !== undefined && { thinkingLevel }),
  };
}

function namesOf({ displayName, titleSource = "" }: CreateParams): { readonly displayName?: string } {
  const name = displayName?.trim() || cutAtWord(oneLine(titleSource), NAME_CHARS);
  return name === "" ? {} : { displayName: name };
}

/** @returns always `undefined`: the session stays as it is. @throws GatewayError `CONFLICT` if other settings are asked for */
function checkSame(old: SessionEntry, asked: SessionEntry, { model }: CreateParams, key: string): undefined {
  const { sessionId: _id, updatedAt: _at, ...settings } = asked;
  const fields = [...Object.keys(settings), ...(model === undefined ? [] : ["modelOverride", "providerOverride"])];
  const other = fields.find((field) => old[field] !== asked[field]);
  if (other === undefined) return undefined;
  throw new GatewayError(
    "CONFLICT",
    `session "${key}" exists with another ${other}; use another key, or change it with sessions.patch`,
  );
}
