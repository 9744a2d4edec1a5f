/** The key of the push service, from the environment. Spec: protocol/methods-system.md §3. */
import { createPrivateKey, hash, type KeyObject } from "node:crypto";
import { readPrivateFile } from "@svc/kit/files";
import { invalidRequest } from "@svc/sdk";

/** Choice: larger than any key file. */
const MAX_BYTES = 16_384;

export interface PushCredentials {
  readonly teamId: string;
  readonly keyId: string;
  readonly key: KeyObject;
  /** Differs for each key. */
  readonly digest: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @returns `undefined`: none are set. @throws GatewayError `INVALID_REQUEST` naming the variable, never a value */
export async function readCredentials(env: Environment = process.env): Promise<PushCredentials | undefined> {
  const value = (name: string) => env[name]?.trim() || undefined;
  const [teamId, keyId] = [value("SVC_APNS_TEAM_ID"), value("SVC_APNS_KEY_ID")];
  const inline = value("SVC_APNS_PRIVATE_KEY") ?? value("SVC_APNS_PRIVATE_KEY_P8");
  const path = value("SVC_APNS_PRIVATE_KEY_PATH");
  const missing = [
    ...(teamId === undefined ? ["SVC_APNS_TEAM_ID"] : []),
    ...(keyId === undefined ? ["SVC_APNS_KEY_ID"] : []),
    ...(inline === undefined && path === undefined ? ["SVC_APNS_PRIVATE_KEY or SVC_APNS_PRIVATE_KEY_PATH"] : []),
  ];
  if (missing.length === 3) return undefined;
  if (teamId === undefined || keyId === undefined || missing.length > 0) {
    return invalidRequest(`the credentials of the push service are incomplete: set ${missing.join(", ")}`);
  }
  const pem = inline?.replaceAll("\\n", "\n") ?? (await keyFile(path ?? ""));
  return { teamId, keyId, key: signingKey(pem), digest: hash("sha256", [teamId, keyId, pem].join("\n")) };
}

async function keyFile(path: string): Promise<string> {
  const read = await readPrivateFile(path, { maxBytes: MAX_BYTES, denied: 0o066 }).catch(() => undefined);
  if (Buffer.isBuffer(read)) return read.toString();
  const why = read?.fault ?? "it cannot be read";
  return invalidRequest(
    `the file of SVC_APNS_PRIVATE_KEY_PATH is not usable (${why}); it must be a file with mode 0600`,
  );
}

function signingKey(pem: string): KeyObject {
  const refuse = () => invalidRequest("the private key of the push service is not a P-256 key in PKCS#8 form (.p8)");
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return refuse(); // the error could quote the key
  }
  return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : refuse();
}
