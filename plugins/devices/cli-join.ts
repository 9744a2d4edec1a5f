/** Pairs this machine as a device with a remote gateway. */
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import { detailsCode, refusal } from "@svc/sdk/errors";
import { namesNextStep } from "@svc/sdk/cli";
import { type ClientOptions, gatewayAddress, type GatewayClient, isLoopbackHost } from "@svc/sdk/client";
import { type DeviceIdentity, keepDevice, keepDeviceToken, readDeviceToken } from "@svc/sdk/device";

/** Milliseconds between two connects while waiting for an approval: the first and the longest delay. */
const POLL_MS = { first: 1_000, most: 10_000 } as const;
const ROLE = "operator";

/** The gateway to join, and the environment of the command. */
export interface JoinOptions {
  readonly url: string;
  readonly token?: string;
  readonly password?: string;
  readonly tlsFingerprint?: string;
  readonly name?: string;
  readonly scopes?: readonly string[];
  /** Milliseconds to wait for an approval; 0 does not wait. */
  readonly timeoutMs: number;
  /** Directory of the device key and its tokens. */
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
 * Connects with this machine's device key, waits for an approval if needed, and stores the token.
 * @throws GatewayError the gateway's refusal, with the next step
 */
export async function join(options: JoinOptions): Promise<Joined> {
  const device = keepDevice(options.directory);
  const until = options.elapsed() + options.timeoutMs;
  if (isInClear(options.url))
    options.note("this address is not encrypted: anyone on the network path can read the secret");
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
      `${url} accepts this machine, but issues no device tokens\nNext: pass --token with each command, or enable the plugin devices there`,
    );
  }
  keepDeviceToken(directory, url, ROLE, { token: auth.deviceToken, scopes: auth.scopes, updatedAtMs: Date.now() });
  return { url, deviceId: device.id, scopes: auth.scopes };
}

/** Id of the pairing request in a refusal. */
function requestIn(error: unknown): string | undefined {
  if (!isGatewayError(error) || error.code !== "NOT_PAIRED") return undefined;
  const { requestId } = (error.details ?? {}) as { requestId?: unknown };
  return typeof requestId === "string" ? requestId : undefined;
}

/** Whether the stored token was revoked or replaced, so that it will never work again. */
function isDeadToken(error: unknown, { token, password }: JoinOptions): boolean {
  if (token !== undefined || password !== undefined || !isGatewayError(error)) return false;
  return detailsCode(error) === "AUTH_DEVICE_TOKEN_MISMATCH";
}

/** Whether the gateway is unreachable now; ignored while waiting for an approval. */
function isAway(error: unknown): boolean {
  return isGatewayError(error) && error.code === "UNAVAILABLE";
}

function tell(device: DeviceIdentity, requestId: string, { url, timeoutMs, note }: JoinOptions): void {
  note(`This machine is device ${device.id}. The gateway ${url} must approve the device's request ${requestId}.`);
  note(`On the gateway's machine: svc devices approve ${requestId}`);
  if (timeoutMs > 0) note(`Waiting for the approval, at most ${Math.round(timeoutMs / 1_000)} s.`);
}

/** The command that repeats this request; leaving out an option would make another request, or be refused. */
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
    `this machine has not been approved yet\nNext: on the gateway's machine: svc devices approve ${requestId}\nthen here: ${sameAgain(options)}`,
    { requestId },
  );
}

/** A repeated request keeps its id, so a new id means that the first request was rejected or dropped. */
function turnedDown(requestId: string, options: JoinOptions): GatewayError {
  return refusal(
    "PAIRING_REJECTED",
    `request ${requestId} was rejected, or dropped because too many requests wait\nNext: ask the people who run the gateway, then: ${sameAgain(options)}`,
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

/** Deletes the tokens of one gateway. @returns whether any existed */
export function leave(directory: string, url: string): boolean {
  const roles = ["operator", "node"].filter((role) => readDeviceToken(directory, url, role) !== undefined);
  for (const role of roles) keepDeviceToken(directory, url, role, undefined);
  return roles.length > 0;
}
