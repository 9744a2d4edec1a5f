/** Device identity with real keys. Spec: protocol/frames-and-connect.md §6. */
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, it } from "node:test";
import { type ConnectParams, devicePayloads } from "@svc/sdk/protocol";
import { verifyDevice } from "../../../host/auth/device-proof.ts";

type Device = NonNullable<ConnectParams["device"]>;

const NOW = 1_800_000_000_000;
const NONCE = "3f0e2a52-0000-4000-8000-000000000001";

interface Key {
  readonly id: string;
  readonly raw: Buffer;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function newKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(String(publicKey.export({ format: "jwk" }).x), "base64url");
  return { id: createHash("sha256").update(raw).digest("hex"), raw, publicKey, privateKey };
}

const key = newKey();
const base: ConnectParams = {
  minProtocol: 3,
  maxProtocol: 3,
  client: { id: "cli", version: "1.0.0", platform: "linux", mode: "cli", deviceFamily: "desktop" },
  role: "operator",
  scopes: ["operator.write", "operator.read"],
  auth: { token: "t0ken" },
};

/** The signed text according to the spec, implemented independently. */
function payload(
  version: "v2" | "v3",
  { client, role = "operator", scopes = [], auth }: ConnectParams,
  device: Device,
) {
  const token = auth?.token ?? auth?.deviceToken ?? "";
  const fields = [version, device.id, client.id, client.mode, role, scopes.join(","), device.signedAt, token, NONCE];
  const more =
    version === "v3" ? [(client.platform ?? "").toLowerCase(), (client.deviceFamily ?? "").toLowerCase()] : [];
  return [...fields, ...more].join("|");
}

interface Proof {
  readonly params?: Partial<ConnectParams>;
  readonly device?: Partial<Device>;
  readonly version?: "v2" | "v3";
  readonly signer?: Key;
}

/** Params of a connect with a valid proof; each case changes one field before signing. */
function proven({ params = {}, device = {}, version = "v3", signer = key }: Proof = {}): ConnectParams {
  const connect = { ...base, ...params };
  const claim = {
    id: key.id,
    publicKey: key.raw.toString("base64url"),
    signature: "",
    signedAt: NOW,
    nonce: NONCE,
    ...device,
  };
  const signature = sign(null, Buffer.from(payload(version, connect, claim)), signer.privateKey).toString("base64url");
  return { ...connect, device: { ...claim, signature } };
}

/** The same, with one field changed after signing. */
const tampered = (device: Partial<Device>, params: Partial<ConnectParams> = {}): ConnectParams => {
  const { device: signed, ...connect } = proven();
  assert.ok(signed);
  return { ...connect, ...params, device: { ...signed, ...device } };
};

const verify = (params: ConnectParams) => verifyDevice(params, NONCE, NOW);

describe("a device proves itself", () => {
  it("not at all without a device in the params", () => assert.equal(verify(base), undefined));

  for (const version of ["v2", "v3"] as const) {
    it(`with a signature of ${version}`, () => assert.equal(verify(proven({ version })), key.id));
  }

  const spellings: [why: string, publicKey: string][] = [
    ["base64url", key.raw.toString("base64url")],
    ["base64url with padding", `${key.raw.toString("base64url")}=`],
    ["base64", key.raw.toString("base64")],
    ["base64 without padding", key.raw.toString("base64").replace(/=+$/, "")],
    ["PEM", String(key.publicKey.export({ format: "pem", type: "spki" }))],
    ["PEM without the last line end", String(key.publicKey.export({ format: "pem", type: "spki" })).trim()],
  ];
  for (const [why, publicKey] of spellings) {
    it(`with its key as ${why}`, () => assert.equal(verify(proven({ device: { publicKey } })), key.id));
  }

  it("with its signature in either alphabet, padded or not [W6.3]", () => {
    const { device, ...connect } = proven();
    assert.ok(device);
    const raw = Buffer.from(device.signature, "base64url");
    for (const signature of [raw.toString("base64"), raw.toString("base64").slice(0, -2), `${device.signature}==`])
      assert.equal(verify({ ...connect, device: { ...device, signature } }), key.id);
  });

  it("with any key in either alphabet [W6.1]", () => {
    // fifty keys include some with the two characters in which the alphabets differ
    for (let round = 0; round < 50; round++) {
      const other = newKey();
      for (const alphabet of ["base64", "base64url"] as const) {
        const device = { id: other.id, publicKey: other.raw.toString(alphabet) };
        assert.equal(verify(proven({ device, signer: other })), other.id);
      }
    }
  });

  const accepted: [why: string, proof: Proof][] = [
    ["without scopes", { params: { scopes: [] } }],
    ["as a node", { params: { role: "node" } }],
    ["with a device token", { params: { auth: { deviceToken: "d" } } }],
    ["with both tokens, of which the first is signed", { params: { auth: { token: "a", deviceToken: "d" } } }],
    ["with a password, which is not signed", { params: { auth: { password: "p" } } }],
    ["without any credential", { params: { auth: {} } }],
    [
      "on a platform with capitals",
      { params: { client: { ...base.client, platform: "MacIntel", deviceFamily: "Mac" } } },
    ],
    ["without a device family", { params: { client: { id: "x", version: "1", platform: "web", mode: "ui" } } }],
    ["at the limit of the allowed time, late [W6.4]", { device: { signedAt: NOW - 120_000 } }],
    ["at the limit of the allowed time, early", { device: { signedAt: NOW + 120_000 } }],
    ["with blanks around the nonce", { device: { nonce: ` ${NONCE}\n` } }],
  ];
  for (const [why, proof] of accepted) {
    for (const version of ["v2", "v3"] as const) {
      it(`${why} (${version})`, () => assert.equal(verify(proven({ ...proof, version })), key.id));
    }
  }

  it("trims the platform, and lower-cases only ASCII letters [W6.10]", () => {
    const client = { ...base.client, platform: " MacOS ÄÖ İ ", deviceFamily: "\tMac" };
    const [v3] = devicePayloads({ ...base, client }, { id: "i", signedAt: 5, nonce: "n" });
    assert.ok(v3.endsWith("|macos ÄÖ İ|mac"), v3);
  });

  it("signs nothing but the fields of the spec, in its order [W6.6]", () => {
    const params = tampered({ signedAt: 5, nonce: "n", id: "i" });
    assert.deepEqual(devicePayloads(params, params.device ?? assert.fail("no device")), [
      "v3|i|cli|cli|operator|operator.write,operator.read|5|t0ken|n|linux|desktop",
      "v2|i|cli|cli|operator|operator.write,operator.read|5|t0ken|n",
    ]);
  });
});

describe("a device is refused", () => {
  const other = newKey();
  const pem = (type: "x25519" | "ec") => {
    const pair = type === "ec" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("x25519");
    return String(pair.publicKey.export({ format: "pem", type: "spki" }));
  };
  const mismatch = ["device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH", "device-id-mismatch"];
  const expired = ["device signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED", "device-signature-stale"];
  const nonceMissing = ["device nonce required", "DEVICE_AUTH_NONCE_REQUIRED", "device-nonce-missing"];
  const nonceMismatch = ["device nonce mismatch", "DEVICE_AUTH_NONCE_MISMATCH", "device-nonce-mismatch"];
  const signature = ["device signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID", "device-signature"];
  const badKey = ["device public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID", "device-public-key"];

  const [signed] = [String(proven().device?.signature)];
  const privatePem = String(key.privateKey.export({ format: "pem", type: "pkcs8" }));
  const publicPem = String(key.publicKey.export({ format: "pem", type: "spki" }));

  const rows: [why: string, params: ConnectParams, row: string[]][] = [
    ["its id in capitals [W6.2]", proven({ device: { id: key.id.toUpperCase() } }), mismatch],
    ["its id with a blank", proven({ device: { id: ` ${key.id}` } }), mismatch],
    ["a signature of one byte more", tampered({ signature: `${signed}AA` }), signature],
    ["a signature of one byte less", tampered({ signature: signed.slice(0, -1) }), signature],
    ["a signature with blanks", tampered({ signature: ` ${signed}` }), signature],
    [
      "a signature with other characters in it",
      tampered({ signature: `${signed.slice(0, 9)}!${signed.slice(9)}` }),
      signature,
    ],
    [
      "a signature in hexadecimal",
      tampered({ signature: Buffer.from(signed, "base64url").toString("hex") }),
      signature,
    ],
    ["a very long signature", tampered({ signature: "A".repeat(1_000_000) }), signature],
    [
      "a key with other characters in it",
      proven({ device: { publicKey: `!${key.raw.toString("base64url")}` } }),
      badKey,
    ],
    ["a key in hexadecimal", proven({ device: { publicKey: key.raw.toString("hex") } }), badKey],
    ["a very long key", proven({ device: { publicKey: "A".repeat(1_000_000) } }), badKey],
    ["its private key", proven({ device: { publicKey: privatePem } }), badKey],
    ["two keys", proven({ device: { publicKey: publicPem + publicPem } }), badKey],
    ["a PEM with text before it", proven({ device: { publicKey: `x ${publicPem}` } }), badKey],
    ["a very long PEM", proven({ device: { publicKey: publicPem.replace("\n", "\n".repeat(1_000)) } }), badKey],
    ["the id of another key", proven({ device: { id: other.id } }), mismatch],
    [
      "the key of another id",
      proven({ device: { publicKey: other.raw.toString("base64url") }, signer: other }),
      mismatch,
    ],
    ["an id that is not a hash", proven({ device: { id: "device-1" } }), mismatch],
    ["a signature too old", proven({ device: { signedAt: NOW - 120_001 } }), expired],
    ["a signature of the future", proven({ device: { signedAt: NOW + 120_001 } }), expired],
    ["a signature of 1970", proven({ device: { signedAt: 0 } }), expired],
    ["a blank nonce", proven({ device: { nonce: " \t" } }), nonceMissing],
    ["another nonce", proven({ device: { nonce: "another" } }), nonceMismatch],
    ["the nonce in capitals", proven({ device: { nonce: NONCE.toUpperCase() } }), nonceMismatch],
    ["another signer", proven({ signer: other }), signature],
    ["half a signature [W6.3]", tampered({ signature: String(proven().device?.signature).slice(0, 40) }), signature],
    ["a signature that is text", tampered({ signature: "signature" }), signature],
    ["a signature of nothing", tampered({ signature: Buffer.alloc(64).toString("base64url") }), signature],
    ["a time changed after signing", tampered({ signedAt: NOW + 1 }), signature],
    [
      "a scope added after signing",
      tampered({}, { scopes: ["operator.write", "operator.read", "operator.admin"] }),
      signature,
    ],
    ["scopes in another order", tampered({}, { scopes: ["operator.read", "operator.write"] }), signature],
    ["another role", tampered({}, { role: "node" }), signature],
    ["another token", tampered({}, { auth: { token: "other" } }), signature],
    ["another client", tampered({}, { client: { ...base.client, id: "gateway-client" } }), signature],
    ["another mode", tampered({}, { client: { ...base.client, mode: "ui" } }), signature],
    ["another platform", tampered({}, { client: { ...base.client, platform: "darwin" } }), signature],
    ["a key that is too short", proven({ device: { publicKey: key.raw.subarray(1).toString("base64url") } }), badKey],
    [
      "a key that is too long",
      proven({ device: { publicKey: Buffer.concat([key.raw, key.raw]).toString("base64") } }),
      badKey,
    ],
    ["a key that is text", proven({ device: { publicKey: "my key" } }), badKey],
    [
      "a broken PEM",
      proven({ device: { publicKey: "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----" } }),
      badKey,
    ],
    ["a PEM of another curve [W6.1]", proven({ device: { publicKey: pem("x25519") } }), badKey],
    ["a PEM of another kind", proven({ device: { publicKey: pem("ec") } }), badKey],
  ];
  for (const [why, params, [message, code, reason]] of rows) {
    it(`for ${why}: ${message}`, () => {
      assert.throws(() => verify(params), {
        name: "GatewayError",
        code: "INVALID_REQUEST",
        message,
        details: { code, reason },
      });
    });
  }

  const inBothVersions: [why: string, proof: Proof, row: string[]][] = [
    ["the id of another key", { device: { id: other.id } }, mismatch],
    ["a signature too old", { device: { signedAt: NOW - 120_001 } }, expired],
    ["a signature of the future", { device: { signedAt: NOW + 120_001 } }, expired],
    ["a blank nonce", { device: { nonce: " " } }, nonceMissing],
    ["another nonce", { device: { nonce: "another" } }, nonceMismatch],
    ["another signer", { signer: other }, signature],
    ["an invalid key", { device: { publicKey: "x" } }, badKey],
  ];
  const changed: [why: string, params: Partial<ConnectParams>][] = [
    ["the role", { role: "node" }],
    ["the scopes", { scopes: ["operator.admin"] }],
    ["the order of scopes", { scopes: ["operator.read", "operator.write"] }],
    ["the token", { auth: { token: "other" } }],
    ["the token for a device token of the same text", { auth: { token: "", deviceToken: "t0ken" } }],
    ["the client id", { client: { ...base.client, id: "svc-control-ui" } }],
    ["the client mode", { client: { ...base.client, mode: "ui" } }],
  ];
  for (const version of ["v2", "v3"] as const) {
    for (const [why, proof, [message]] of inBothVersions)
      it(`for ${why} (${version})`, () => assert.throws(() => verify(proven({ ...proof, version })), { message }));
    for (const [why, params] of changed)
      it(`for changing ${why} after signing (${version})`, () =>
        assert.throws(() => verify({ ...proven({ version }), ...params }), { message: "device signature invalid" }));
  }

  it("for an id changed to its alias: the signature covers the id as sent", () => {
    const sent = proven({ params: { client: { ...base.client, id: "acme-control-ui" } } });
    assert.equal(verify(sent), key.id);
    const renamed = { ...sent, client: { ...sent.client, id: "svc-control-ui" } };
    assert.throws(() => verify(renamed), { message: "device signature invalid" });
  });

  it("for another platform with v3, but not with v2 [W6.11]", () => {
    const { device } = proven({ version: "v2" });
    assert.ok(device);
    assert.equal(verify({ ...base, client: { ...base.client, platform: "darwin" }, device }), key.id);
  });

  it("for the first row that applies, in the order key, id, time, nonce, signature", () => {
    const wrong: Device = { id: "x", publicKey: "x", signature: "x", signedAt: 0, nonce: " " };
    const steps: [right: Partial<Device>, message: string][] = [
      [{}, "device public key invalid"],
      [{ publicKey: key.raw.toString("base64url") }, "device identity mismatch"],
      [{ id: key.id }, "device signature expired"],
      [{ signedAt: NOW }, "device nonce required"],
      [{ nonce: "x" }, "device nonce mismatch"],
      [{ nonce: NONCE }, "device signature invalid"],
    ];
    let device = wrong;
    for (const [right, message] of steps) {
      device = { ...device, ...right };
      assert.throws(() => verify({ ...base, device }), { message });
    }
  });
});
