/** Limits what senders, templates and transforms may choose. Spec: http/webhooks.md §5.2-5.3. Pure except for the generated key. */
import { randomUUID } from "node:crypto";
import { invalidRequest } from "@svc/sdk";
import type { WebhookActionContext, WebhookPolicy } from "@svc/sdk/webhooks";
import type { Issue } from "../config/file.ts";
import type { HooksSection } from "../config/hooks-schema.ts";

export interface PolicySettings {
  readonly defaultSessionKey: string | undefined;
  readonly allowRequestSessionKey: boolean;
  /** Lower case; empty: any key in mappings, `hook:` in requests. */
  readonly sessionKeyPrefixes: readonly string[];
  /** `undefined`: all; empty: none. Lower case. */
  readonly agentIds: ReadonlySet<string> | undefined;
}

/** Prefix of keys that the gateway generates. */
const GENERATED = "hook:";

/** Choice: longer keys are refused. */
const MAX_KEY_CHARS = 512;
/** Control characters and lone surrogates: a store may not preserve them, and two keys must not become one. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

const normal = (text: string) => text.trim().toLowerCase();

export function policySettings(section: HooksSection): PolicySettings {
  const { allowedAgentIds, allowedSessionKeyPrefixes = [], defaultSessionKey } = section;
  const ids = allowedAgentIds?.map(normal).filter(Boolean);
  return {
    defaultSessionKey: defaultSessionKey?.trim() || undefined,
    allowRequestSessionKey: section.allowRequestSessionKey ?? false,
    sessionKeyPrefixes: allowedSessionKeyPrefixes.map(normal).filter(Boolean),
    agentIds: ids === undefined || ids.includes("*") ? undefined : new Set(ids),
  };
}

/** Choice: a list with only blank entries is a mistake; it does not mean "any key", as the empty list does. */
export function policyIssues(section: HooksSection): Issue[] {
  const { allowedSessionKeyPrefixes: listed = [] } = section;
  const settings = policySettings(section);
  if (listed.length > 0 && settings.sessionKeyPrefixes.length === 0)
    return [
      {
        path: "hooks.allowedSessionKeyPrefixes",
        message: "has only blank entries; write prefixes, or take the key out",
      },
    ];
  const { defaultSessionKey, sessionKeyPrefixes } = settings;
  const allowed = sessionKeyPrefixes.join(", ");
  if (defaultSessionKey !== undefined && !mayBegin(defaultSessionKey, sessionKeyPrefixes))
    return [
      { path: "hooks.defaultSessionKey", message: `begins with none of hooks.allowedSessionKeyPrefixes (${allowed})` },
    ];
  if (defaultSessionKey === undefined && !mayBegin(GENERATED, sessionKeyPrefixes))
    return [
      {
        path: "hooks.allowedSessionKeyPrefixes",
        message: `excludes generated keys, which begin with ${GENERATED}; add "${GENERATED}", or set hooks.defaultSessionKey`,
      },
    ];
  return [];
}

function mayBegin(key: string, prefixes: readonly string[]): boolean {
  const lower = key.toLowerCase();
  return prefixes.length === 0 || prefixes.some((prefix) => lower.startsWith(prefix));
}

/** @param source `mapping`: templates and transforms are the operator's own, so only the prefixes restrict their keys */
export function createPolicy(settings: PolicySettings, source: WebhookActionContext["source"]): WebhookPolicy {
  return {
    checkAgentId(agentId) {
      const { agentIds } = settings;
      if (agentIds && !agentIds.has(normal(agentId)))
        invalidRequest(
          `agentId "${agentId}" is not allowed by hooks.allowedAgentIds, which also applies to the default one`,
        );
    },
    sessionKey(text) {
      const wanted = text?.trim() || undefined;
      if (wanted === undefined) return settings.defaultSessionKey ?? `${GENERATED}${randomUUID()}`;
      if (source === "request" && !settings.allowRequestSessionKey)
        invalidRequest("sessionKey is disabled for external payloads; set hooks.allowRequestSessionKey to allow it");
      if (wanted.length > MAX_KEY_CHARS || UNPRINTABLE.test(wanted))
        invalidRequest(`sessionKey must be at most ${MAX_KEY_CHARS} printable characters`);
      // Choice: any other key may be that of an existing conversation, which the request would take over.
      const isOpen = source === "request" && settings.sessionKeyPrefixes.length === 0;
      const prefixes = isOpen ? [GENERATED] : settings.sessionKeyPrefixes;
      if (!mayBegin(wanted, prefixes))
        invalidRequest(
          `sessionKey must start with one of: ${prefixes.join(", ")}${isOpen ? "; set hooks.allowedSessionKeyPrefixes to allow others" : ""}`,
        );
      return wanted;
    },
  };
}
