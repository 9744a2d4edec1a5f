/** The claims of a connection with a proven device, normalized for storage and comparison. Pure except for the cryptography. */
import { createPublicKey } from "node:crypto";
import { type Admission, invalidRequest, type Role } from "@svc/sdk";
import type { DeviceFacts } from "./records.ts";
import { wantedScopes } from "./scopes.ts";

/** Choice: maximum UTF-16 units of a text, and entries of a list; real values are far below. */
const MAX_TEXT = 256;
const MAX_ENTRIES = 256;

type ClaimText = "displayName" | "platform" | "deviceFamily" | "clientId" | "clientMode";

/** A device that requests admission. */
export interface Claim {
  readonly deviceId: string;
  readonly role: Role;
  /** Known scopes that the device requests. */
  readonly scopes: readonly string[];
  /** Commands that a node declares; `undefined` for other roles. */
  readonly commands: readonly string[] | undefined;
  readonly facts: DeviceFacts;
}

/** @returns `undefined`: no device was proven. @throws GatewayError `INVALID_REQUEST` naming the value that is too long */
export function claimOf({
  device: deviceId,
  connect,
  clientId,
  principal,
  remoteAddress,
}: Admission): Claim | undefined {
  if (deviceId === undefined || !connect.device) return undefined;
  const { client, caps, commands } = connect;
  const { role } = principal;
  const { displayName, platform, deviceFamily, mode: clientMode } = client;
  const texts = checkedTexts({ displayName, platform, deviceFamily, clientId, clientMode });
  return {
    deviceId,
    role,
    scopes: wantedScopes(role, principal.scopes),
    commands: role === "node" ? listed("commands", commands ?? []) : undefined,
    facts: {
      publicKey: canonicalKey(connect.device.publicKey),
      ...texts,
      ...(caps && caps.length > 0 ? { caps: listed("caps", caps) } : {}),
      ...present({ remoteIp: remoteAddress }),
    },
  };
}

/** @throws GatewayError `INVALID_REQUEST` naming the text that is too long */
export function checkedTexts(
  texts: Readonly<Record<ClaimText, string | undefined>>,
): Partial<Record<ClaimText, string>> {
  for (const [name, text] of Object.entries(texts)) checkText(name, text);
  return present(texts);
}

function checkText(name: string, text: string | undefined): void {
  if (text !== undefined && text.length > MAX_TEXT)
    invalidRequest(`client.${name} is longer than ${MAX_TEXT} characters; shorten it`);
}

/** Sorted, without duplicates. @throws GatewayError `INVALID_REQUEST` naming the list that is too long */
export function listed(name: string, entries: readonly string[]): readonly string[] {
  const unique = [...new Set(entries)].sort();
  if (unique.length > MAX_ENTRIES) invalidRequest(`${name} has more than ${MAX_ENTRIES} entries`);
  if (unique.some((entry) => entry.length > MAX_TEXT))
    invalidRequest(`an entry of ${name} is longer than ${MAX_TEXT} characters; shorten it`);
  return unique;
}

/** Trims the texts; blank ones are left out. */
function present<K extends string>(texts: Readonly<Record<K, string | undefined>>): Partial<Record<K, string>> {
  const kept: Partial<Record<K, string>> = {};
  for (const name of Object.keys(texts) as K[]) {
    const text = texts[name]?.trim();
    if (text) kept[name] = text;
  }
  return kept;
}

/** Converts a verified key in any encoding of §6 to base64url of its 32 bytes. */
export function canonicalKey(publicKey: string): string {
  const text = publicKey.trim();
  const raw = text.startsWith("-----BEGIN ") ? createPublicKey(text).export({ format: "jwk" }).x : text;
  return Buffer.from(raw ?? "", "base64").toString("base64url");
}
