/**
 * `@svc/sdk/device`: the device identity of this machine, a key that proves its clients, and the tokens it received. Not for
 * browsers. Spec: protocol/stores.md §5.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { gatewayAddress } from "../client/address.ts";
import type { DeviceIdentity } from "../client/device-proof.ts";

export type { DeviceIdentity } from "../client/device-proof.ts";

/** A device whose key this process holds, so that it signs at once. */
export interface KeptDevice extends DeviceIdentity {
  sign(text: string): string;
}

/** Creates a new device without storing it. */
export function createDevice(): KeptDevice {
  return identityOf(newKey());
}

/**
 * A new Ed25519 key. It is encoded and read again, because Node 20 waits for ever when the garbage collector runs while a key
 * object that `generateKeyPairSync` returned is exported: both lock the key.
 */
function newKey(): KeyObject {
  const { privateKey: key } = generateKeyPairSync("ed25519", {
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "der" },
  });
  return createPrivateKey({ key, type: "pkcs8", format: "der" });
}

function identityOf(privateKey: KeyObject): KeptDevice {
  const { x = "" } = privateKey.export({ format: "jwk" });
  return {
    id: createHash("sha256").update(Buffer.from(x, "base64url")).digest("hex"),
    publicKey: x,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString("base64url"),
  };
}

const FILE = "device.json";

/**
 * The device stored in a directory, created at the first call: `device.json`, mode 0600.
 * @param directory e.g. `<state>/identity`; created when it is missing
 * @throws Error naming the file: it exists but contains no key; it is never overwritten
 */
export function keepDevice(directory: string): KeptDevice {
  const kept = readDevice(directory);
  if (kept) return kept;
  const privateKey = newKey();
  const device = identityOf(privateKey);
  const text = JSON.stringify(
    {
      version: 1,
      deviceId: device.id,
      publicKeyPem: createPublicKey(privateKey).export({ type: "spki", format: "pem" }),
      privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }),
      createdAtMs: Date.now(),
    },
    null,
    2,
  );
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFirst(join(directory, FILE), `${text}\n`);
  return readDevice(directory) ?? device;
}

/** The device stored in a directory, or `undefined` when there is none. @throws Error naming a file that contains no key */
export function readDevice(directory: string): KeptDevice | undefined {
  const path = join(directory, FILE);
  const text = readKept(path);
  if (text === undefined) return undefined;
  try {
    const { privateKeyPem } = JSON.parse(text) as { privateKeyPem: string };
    const key = createPrivateKey(privateKeyPem);
    if (key.asymmetricKeyType !== "ed25519") throw new Error("it is not an Ed25519 key");
    return identityOf(key);
  } catch (cause) {
    throw new Error(
      `${path} contains no device key; move the file away to create a new device, which must be approved again`,
      {
        cause,
      },
    );
  }
}

/** A token that a gateway issued to this device. */
export interface KeptToken {
  readonly token: string;
  readonly scopes: readonly string[];
  /** epoch ms */
  readonly updatedAtMs: number;
}

type Tokens = Record<string, Record<string, KeptToken>>;
const TOKENS_FILE = "device-auth.json";

/** Tokens of this device, by the gateway's URL and role: `device-auth.json`, mode 0600. An invalid file counts as empty. */
export function readDeviceToken(directory: string, url: string, role: string): KeptToken | undefined {
  const known = readTokens(directory)[gatewayKey(url)];
  const kept = known && Object.hasOwn(known, role) ? known[role] : undefined;
  return typeof kept?.token === "string" && kept.token !== "" ? kept : undefined;
}

/** Stores a token; `undefined` deletes it. */
export function keepDeviceToken(directory: string, url: string, role: string, kept: KeptToken | undefined): void {
  const tokens = readTokens(directory);
  const { [role]: _former, ...others } = tokens[gatewayKey(url)] ?? {};
  const mine = kept === undefined ? others : { ...others, [role]: kept };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const text = JSON.stringify({ version: 1, gateways: { ...tokens, [gatewayKey(url)]: mine } }, null, 2);
  writeKept(join(directory, TOKENS_FILE), `${text}\n`);
}

/** Canonical key of a gateway: the path is ignored, since every path leads to the same gateway. */
function gatewayKey(url: string): string {
  const address = gatewayAddress(url);
  return address ? `${address.protocol}//${address.host}` : url;
}

function readTokens(directory: string): Tokens {
  try {
    const { gateways } = JSON.parse(readKept(join(directory, TOKENS_FILE)) ?? "{}") as { gateways?: Tokens };
    return typeof gateways === "object" && gateways !== null ? gateways : {};
  } catch {
    return {};
  }
}

function readKept(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes atomically, readable only by the owner. */
function writeKept(path: string, text: string): void {
  renameSync(writeDraft(path, text), path);
}

/** Like `writeKept`, but keeps a file that another process wrote first. */
function writeFirst(path: string, text: string): void {
  const draft = writeDraft(path, text);
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function writeDraft(path: string, text: string): string {
  const draft = `${path}.${process.pid}.tmp`;
  const file = openSync(draft, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return draft;
}
