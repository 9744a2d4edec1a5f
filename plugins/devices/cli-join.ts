/** Making this machine a known device of a gateway elsewhere. */
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import { detailsCode, refusal } from "@svc/sdk/errors";
import { namesNextStep } from "@svc/sdk/cli";
import { type ClientOptions, gatewayAddress, type GatewayClient, isLoopbackHost } from "@svc/sdk/client";
import { type DeviceIdentity, keepDevice, keepDeviceToken, readDeviceToken } from "@svc/sdk/device";

/** Milliseconds between two looks whether somebody has approved: the first wait, and the longest. */
const POLL_MS = { first: 1_000, most: 10_000 } as const;
const ROLE = "operator";

/** What to join, and the world it is done in. */
export interface JoinOptions {
  readonly url: string;
  readonly token?: string;
  readonly password?: string;
  readonly tlsFingerprint?: string;
  readonly name?: string;
  readonly scopes?: readonly string[];
  /** Milliseconds to wait for an approval; 0 does not wait. */
  readonly timeoutMs: number;
  /** Where the device and its tokens are kept. */
  readonly directory: string;
  connect(options: ClientOptions): Promise<GatewayClient>;
  note(line: string): void;
  wait(ms: number): Promise<void>;
  /** Monotonic milliseconds. */
  elapsed(): number;
}

export interface Joined {
  readonly url: string;
  readonly deviceId: string;
  readonly scopes: readonly string[];
}

/**
 * Proves this machine's device, waits for an approval where one is needed, and keeps the token.
 * @throws GatewayError what the gateway refused with, and how to go on
 */
export async function join(options: JoinOptions): Promise<Joined> {
  const device = keepDevice(options.directory);
  const until = options.elapsed() + options.timeoutMs;
  if (isInClear(options.url)) options.note("this address is not encrypted: whoever is in between can read the secret");
  let asked: string | undefined;
  for (let pause: number = POLL_MS.first; ; pause = Math.min(POLL_MS.most, pause * 2)) {
    try {
      return await enter(device, options);
    } catch (error) {
      const request = requestIn(error);
      if (isDeadToken(error, options)) keepDeviceToken(options.directory, options.url, ROLE, undefined);
      if (request === undefined && !(asked !== undefined && isAway(error))) throw withNextStep(error, options);
      if (request !== undefined && asked !== undefined && request !== asked) throw turnedDown(asked, options);
      if (request !== undefined && asked === undefined) tell(device, request, options);
      asked ??= request;
      if (options.elapsed() + pause > until) throw stillWaiting(String(asked), options);
      await options.wait(pause);
    }
  }
}

function isInClear(url: string): boolean {
  const address = gatewayAddress(url);
  return address?.protocol === "ws:" && !isLoopbackHost(address.hostname);
}

async function enter(device: DeviceIdentity, options: JoinOptions): Promise<Joined> {
  const { url, token, password, tlsFingerprint, name, scopes, directory } = options;
  const client = await options.connect({
    url,
    ...(tlsFingerprint === undefined ? {} : { tlsFingerprint }),
    device,
    role: ROLE,
    deviceToken: () => readDeviceToken(directory, url, ROLE)?.token,
    ...(token === undefined ? {} : { token }),
    ...(password === undefined ? {} : { password }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(name === undefined ? {} : { client: { displayName: name } }),
  });
  const { auth } = client.hello;
  await client.close();
  if (!auth?.deviceToken) {
    return invalidRequest(
      `${url} lets this machine in, but gives devices no token\nNext: pass --token with each command, or enable the plugin devices there`,
    );
  }
  keepDeviceToken(directory, url, ROLE, { token: auth.deviceToken, scopes: auth.scopes, updatedAtMs: Date.now() });
  return { url, deviceId: device.id, scopes: auth.scopes };
}

/** Id of the request a refusal made. */
function requestIn(error: unknown): string | undefined {
  if (!isGatewayError(error) || error.code !== "NOT_PAIRED") return undefined;
  const { requestId } = (error.details ?? {}) as { requestId?: unknown };
  return typeof requestId === "string" ? requestId : undefined;
}

/** It was revoked, or renewed elsewhere: it will never work again. */
function isDeadToken(error: unknown, { token, password }: JoinOptions): boolean {
  if (token !== undefined || password !== undefined || !isGatewayError(error)) return false;
  return detailsCode(error) === "AUTH_DEVICE_TOKEN_MISMATCH";
}

/** The gateway cannot be reached now; while we wait that passes. */
function isAway(error: unknown): boolean {
  return isGatewayError(error) && error.code === "UNAVAILABLE";
}

function tell(device: DeviceIdentity, requestId: string, { url, timeoutMs, note }: JoinOptions): void {
  note(`this machine is device ${device.id}; ${url} asks for an approval, request ${requestId}`);
  note(`On the gateway's machine: svc devices approve ${requestId}`);
  if (timeoutMs > 0) note(`waiting for it, at most ${Math.round(timeoutMs / 1_000)} s`);
}

/** The command that asks for the very same again: with anything left out it would be another request, or be refused. */
function sameAgain({ url, token, password, name, scopes }: JoinOptions): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    `svc pairing join --url ${url}`,
    ...(token === undefined ? [] : ["--token <token>"]),
    ...(password === undefined ? [] : ["--password <password>"]),
    ...(scopes === undefined ? [] : [`--scopes ${quoted(scopes.join(","))}`]),
    ...(name === undefined ? [] : [`--name ${quoted(name)}`]),
  ].join(" ");
}

function stillWaiting(requestId: string, options: JoinOptions): GatewayError {
  return refusal(
    "PAIRING_REQUIRED",
    `nobody has approved this machine yet\nNext: on the gateway's machine: svc devices approve ${requestId}\nthen here: ${sameAgain(options)}`,
    { requestId },
  );
}

/** A request that is still asked for keeps its id; another one means that the first was decided against. */
function turnedDown(requestId: string, options: JoinOptions): GatewayError {
  return refusal(
    "PAIRING_REJECTED",
    `request ${requestId} was turned down, or pushed out by others\nNext: ask the people who run the gateway, then: ${sameAgain(options)}`,
    { requestId },
  );
}

function withNextStep(error: unknown, { url, token, password }: JoinOptions): unknown {
  if (!isGatewayError(error) || namesNextStep(error.message) || !detailsCode(error)?.startsWith("AUTH_")) return error;
  const secret = token === undefined && password === undefined ? "give" : "check";
  const { code, message, details } = error;
  return new GatewayError(
    code,
    `${message}\nNext: ${secret} the gateway's secret: svc pairing join --url ${url} --token <token>`,
    {
      details,
      cause: error,
    },
  );
}

/** Forgets the tokens of one gateway. @returns whether there were any */
export function leave(directory: string, url: string): boolean {
  const roles = ["operator", "node"].filter((role) => readDeviceToken(directory, url, role) !== undefined);
  for (const role of roles) keepDeviceToken(directory, url, role, undefined);
  return roles.length > 0;
}
