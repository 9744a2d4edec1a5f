/** Parses command line options. */
import { invalidRequest } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { gatewayAddress } from "@svc/sdk/client";

/** Seconds `pairing join` waits for an approval. */
export const JOIN_SECONDS = 300;

/** The value of an option; a blank one counts as absent. */
export function textOption({ options }: CommandContext, name: string): string | undefined {
  const value = options[name];
  return (typeof value === "string" && value.trim()) || undefined;
}

/** @throws GatewayError `INVALID_REQUEST`: an entry is blank */
export function scopesOption(context: CommandContext): string[] | undefined {
  const scopes = textOption(context, "scopes")
    ?.split(",")
    .map((scope) => scope.trim());
  if (scopes?.includes("")) invalidRequest("--scopes takes a comma-separated list, like operator.read,operator.write");
  return scopes;
}

export function gatewayUrl(context: CommandContext): string {
  const url = textOption(context, "url");
  if (url !== undefined && gatewayAddress(url)) return url;
  return invalidRequest("no gateway given: add --url wss://gateway.example, or ws://<host>:18789");
}

export function joinSeconds(context: CommandContext): number {
  const value = textOption(context, "timeout");
  if (value === undefined) return JOIN_SECONDS;
  if (/^\d{1,6}$/.test(value)) return Number(value);
  return invalidRequest("--timeout takes whole seconds");
}
