/** Finds valid settings of channels that let unknown senders into a shared session. Pure. */
import type { ConfigView, ConfigWarning } from "@svc/sdk";
import { EVERYBODY } from "./access/admission.ts";
import { STRANGERS_IN_MAIN } from "./accounts/status.ts";

type Section = Readonly<Record<string, unknown>>;

/** Checks `allowFrom` of `channels.<id>` and its accounts, where it is by convention; `channels.status` checks channels that store it elsewhere. */
export function strangersInMain({ config }: ConfigView): ConfigWarning[] {
  const { session, channels } = object(config);
  const { dmScope = "main" } = object(session);
  if (dmScope !== "main") return [];
  return Object.entries(object(channels)).flatMap(([id, channel]) => {
    const { accounts } = object(channel);
    const below = Object.entries(object(accounts)).map(
      ([name, account]) =>
        [`channels.${id}.accounts${Array.isArray(accounts) ? `[${name}]` : `.${name}`}`, account] as const,
    );
    return [[`channels.${id}`, channel] as const, ...below]
      .filter(([, section]) => isOpen(object(section)["allowFrom"]))
      .map(([path]) => ({
        path: `${path}.allowFrom`,
        message: `${STRANGERS_IN_MAIN.message}; next: ${STRANGERS_IN_MAIN.next}`,
      }));
  });
}

function isOpen(allowFrom: unknown): boolean {
  return Array.isArray(allowFrom) && allowFrom.some((id) => typeof id === "string" && id.trim() === EVERYBODY);
}

function object(value: unknown): Section {
  return Object(value) as Section; // each value is checked before it is used
}
