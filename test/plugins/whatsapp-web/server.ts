/**
 * A small WhatsApp for tests: links devices, keeps their keys, and passes encrypted messages on between real clients. A
 * message is repeated at each login of a device until the device has confirmed it.
 */
import { createHmac, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startWhatsAppServer } from "@openclaw/crabline";
import {
  aesDecryptCTR,
  aesDecryptGCM,
  aesEncryptCTR,
  type BinaryNode,
  Curve,
  derivePairingCodeKey,
  getAllBinaryNodeChildren,
  getBinaryNodeChild as childOf,
  hkdf,
  jidDecode,
  KEY_BUNDLE_TYPE,
  type KeyPair,
  NOISE_WA_HEADER,
  proto,
  S_WHATSAPP_NET,
} from "@whiskeysockets/baileys";
import { WebSocket, WebSocketServer } from "ws";
import { certificateFor } from "../outbound/certificate.ts";
import { createHandshake, framed, type Link, serveNoise } from "./noise.ts";

/** Keys that a client has published. */
interface Bundle {
  identity: Uint8Array;
  registration: Uint8Array;
  signed: BinaryNode;
  /** Keys for one session each. */
  single: BinaryNode[];
}

interface Device {
  readonly user: User;
  readonly id: number;
  readonly bundle: Bundle;
  link: Link | undefined;
  /** Messages that the device has not confirmed. */
  readonly waiting: BinaryNode[];
}

interface User {
  readonly number: string;
  readonly lid: string;
  readonly account: KeyPair;
  readonly devices: Map<number, Device>;
}

/** A connection whose device is not linked yet. */
interface Candidate {
  readonly link: Link;
  readonly bundle: Bundle;
  readonly ref: string;
  /** Of a login with a pairing code. */
  paired?: { readonly wrapped: Buffer; readonly number: string; readonly primary: KeyPair; readonly identity: KeyPair };
  /** Called when the client has signed its identity. */
  signed?: () => void;
}

export type FakeWhatsApp = Awaited<ReturnType<typeof startServer>>;

const childrenOf = (node: BinaryNode | undefined) => (node ? getAllBinaryNodeChildren(node) : []);
const now = () => String(Math.floor(Date.now() / 1_000));
const bytesOf = (node: BinaryNode | undefined): Buffer => Buffer.from((node?.content as Uint8Array | undefined) ?? []);
const without = <T>(list: T[], holds: (one: T) => boolean) => {
  for (let index = list.length - 1; index >= 0; index--) if (holds(list[index] as T)) list.splice(index, 1);
};

/** The certificate of the network, as another server shows it: clients check its signature. */
async function fetchCertificate(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(tmpdir(), "svc-crabline-"));
  const server = await startWhatsAppServer({ recorderPath: join(directory, "events.jsonl") });
  const socket = new WebSocket(server.manifest.endpoints.baileysWebSocketUrl);
  try {
    const [shake, own] = [createHandshake(), Curve.generateKeyPair()];
    shake.authenticate(own.public);
    await new Promise((resolve) => socket.once("open", resolve));
    const hello = proto.HandshakeMessage.encode({ clientHello: { ephemeral: own.public } }).finish();
    const answered = new Promise<Buffer>((resolve) => socket.once("message", (data: Buffer) => resolve(data)));
    socket.send(Buffer.concat([NOISE_WA_HEADER, framed(hello)]));
    const { serverHello } = proto.HandshakeMessage.decode((await answered).subarray(3));
    const { ephemeral = null, static: sealed = null, payload = null } = serverHello ?? {};
    shake.authenticate(ephemeral ?? Buffer.alloc(0));
    shake.mix(Curve.sharedKey(own.private, ephemeral ?? Buffer.alloc(0)));
    const key = shake.decrypt(sealed ?? Buffer.alloc(0));
    shake.mix(Curve.sharedKey(own.private, key));
    return shake.decrypt(payload ?? Buffer.alloc(0));
  } finally {
    socket.terminate();
    await server.close();
    await rm(directory, { recursive: true });
  }
}
let certificate: Promise<Uint8Array> | undefined;

const REPLACED = { tag: "stream:error", attrs: {}, content: [{ tag: "conflict", attrs: { type: "replaced" } }] };

export async function startServer(t: TestContext) {
  const chain = await (certificate ??= fetchCertificate());
  const users = new Map<string, User>();
  const candidates: Candidate[] = [];
  const groups = new Map<string, { readonly subject: string; readonly members: readonly string[] }>();
  const files = new Map<string, Buffer>();
  const log: BinaryNode[] = [];
  const state = {
    /** Answers nothing any more. */
    isDeaf: false,
    /** Error of the answer to each message; `silence`: no answer. */
    refuse: undefined as string | undefined,
    /** Reason with which logins are refused. */
    failure: undefined as string | undefined,
    /** Number of logins. */
    logins: 0,
  };

  const http = createHttp();
  const sockets = new WebSocketServer({ server: http });
  sockets.on("connection", (socket) => {
    let device: Device | undefined;
    let link: Link | undefined;
    const close = (node: BinaryNode) => {
      link?.send(node);
      setImmediate(() => socket.close());
    };
    const take = serveNoise(
      chain,
      (bytes) => {
        if (!state.isDeaf && socket.readyState === WebSocket.OPEN) socket.send(bytes);
      },
      (made) => {
        link = { ...made, send: (node) => made.send(node) };
        const { payload } = made;
        if (payload.devicePairingData) return candidate(made, payload.devicePairingData);
        state.logins += 1;
        device = users.get(String(payload.username))?.devices.get(payload.device ?? 0);
        const { failure = device ? undefined : "401" } = state;
        if (!device || failure) return close({ tag: "failure", attrs: { reason: failure ?? "" } });
        if (device.link) device.link.send(REPLACED);
        device.link = made;
        made.send({ tag: "success", attrs: { lid: `${device.user.lid}:${device.id}@lid`, t: now() } });
        for (const node of device.waiting) made.send({ ...node, attrs: { ...node.attrs, offline: "0" } });
        const count = String(device.waiting.length);
        made.send({ tag: "ib", attrs: {}, content: [{ tag: "offline", attrs: { count } }] });
      },
      (node) => {
        if (link && !state.isDeaf) handle(node, link, device, close);
      },
    );
    const inOrder: { last: Promise<void> } = { last: Promise.resolve() };
    socket.on("message", (data: Buffer) => {
      if (!state.isDeaf) inOrder.last = inOrder.last.then(() => take(data)).catch(() => socket.terminate());
    });
    socket.on("close", () => {
      if (device && device.link === link) device.link = undefined;
      if (device?.link && link && device.link.payload === link.payload) device.link = undefined;
      without(candidates, (one) => one.link.payload === link?.payload);
    });
  });

  function candidate(link: Link, data: proto.ClientPayload.IDevicePairingRegistrationData): void {
    const { eIdent, eRegid, eSkeyId, eSkeyVal, eSkeySig } = data;
    const part = (tag: string, content: Uint8Array | null | undefined) => ({
      tag,
      attrs: {},
      content: content ?? new Uint8Array(),
    });
    const signed = {
      tag: "skey",
      attrs: {},
      content: [part("id", eSkeyId), part("value", eSkeyVal), part("signature", eSkeySig)],
    };
    const bundle = {
      identity: eIdent ?? new Uint8Array(),
      registration: eRegid ?? new Uint8Array(),
      signed,
      single: [],
    };
    const ref = randomBytes(9).toString("base64url");
    candidates.push({ link, bundle, ref });
    const refs = [ref, `${ref}2`, `${ref}3`].map((one) => ({ tag: "ref", attrs: {}, content: Buffer.from(one) }));
    link.send({
      tag: "iq",
      attrs: { from: S_WHATSAPP_NET, type: "set", id: "pair-1" },
      content: [{ tag: "pair-device", attrs: {}, content: refs }],
    });
  }

  /** The phone confirms a new device. @param secret that the client has shown */
  function confirm(one: Candidate, number: string, secret: Uint8Array): Promise<void> {
    const user = userOf(number);
    const id = user.devices.size + 1;
    const details = proto.ADVDeviceIdentity.encode({ rawId: id, timestamp: 1, keyIndex: id }).finish();
    const { account } = user;
    const accountSignature = Curve.sign(
      account.private,
      Buffer.concat([Buffer.from([6, 0]), details, one.bundle.identity]),
    );
    const signed = proto.ADVSignedDeviceIdentity.encode({
      details,
      accountSignatureKey: account.public,
      accountSignature,
    }).finish();
    const hmac = createHmac("sha256", secret).update(signed).digest();
    const content = proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish();
    const device: Device = { user, id, bundle: one.bundle, link: undefined, waiting: [] };
    one.link.send({
      tag: "iq",
      attrs: { from: S_WHATSAPP_NET, type: "set", id: "pair-2" },
      content: [
        {
          tag: "pair-success",
          attrs: {},
          content: [
            { tag: "device-identity", attrs: {}, content },
            { tag: "device", attrs: { jid: `${number}:${id}@s.whatsapp.net`, lid: `${user.lid}:${id}@lid` } },
            { tag: "platform", attrs: { name: "android" } },
          ],
        },
      ],
    });
    return new Promise((resolve) => {
      one.signed = () => {
        user.devices.set(id, device);
        resolve();
      };
    });
  }

  function userOf(number: string): User {
    const known = users.get(number);
    if (known) return known;
    const user = { number, lid: `77${number}`, account: Curve.generateKeyPair(), devices: new Map() };
    users.set(number, user);
    return user;
  }

  function find(jid: string): User | undefined {
    const { user, server } = jidDecode(jid) ?? {};
    return server === "lid" ? [...users.values()].find(({ lid }) => lid === user) : users.get(user ?? "");
  }

  function handle(node: BinaryNode, link: Link, device: Device | undefined, close: (node: BinaryNode) => void): void {
    log.push(node);
    const { tag, attrs } = node;
    const { id = "", to = "" } = attrs;
    if (tag === "iq") {
      if (attrs["type"] === "result") {
        const one = candidates.find((known) => known.link.payload === link.payload);
        if (!one?.signed || !childOf(node, "pair-device-sign")) return;
        one.signed();
        close({ tag: "stream:error", attrs: { code: "515" } });
        return;
      }
      const content = answer(node, link, device);
      link.send({
        tag: "iq",
        attrs: { from: to || S_WHATSAPP_NET, id, type: "result", t: now() },
        ...(content ? { content } : {}),
      });
      if (device && childOf(node, "remove-companion-device")) device.user.devices.delete(device.id);
      return;
    }
    if (!device) return;
    if (tag === "message") {
      if (state.refuse === "silence") return;
      const error = state.refuse === undefined ? {} : { error: state.refuse };
      link.send({ tag: "ack", attrs: { class: "message", id, from: to, t: now(), ...error } });
      if (state.refuse === undefined) relay(node, device);
    }
    if (tag === "receipt" && attrs["type"] === "server-error") {
      const rmr = childOf(node, "rmr") ?? node;
      const content = [rmr, { tag: "error", attrs: { code: "2" } }]; // the phone of the sender does not have the file
      link.send({ tag: "notification", attrs: { id, type: "mediaretry", from: to, t: now() }, content });
      return;
    }
    if (tag === "receipt") {
      without(device.waiting, (one) => one.attrs["id"] === id);
      link.send({ tag: "ack", attrs: { class: "receipt", id, from: to } });
      if (attrs["type"] !== "retry") return;
      const from = `${device.user.number}:${device.id}@s.whatsapp.net`;
      const author = find(attrs["participant"] ?? to);
      for (const other of author?.devices.values() ?? [])
        other.link?.send({
          ...node,
          attrs: {
            ...attrs,
            from: to.endsWith("@g.us") ? to : from,
            t: now(),
            ...(to.endsWith("@g.us") ? { participant: from } : {}),
          },
        });
    }
    if (tag === "ack" && attrs["class"] === "message") without(device.waiting, (one) => one.attrs["id"] === id);
  }

  function answer(node: BinaryNode, link: Link, device: Device | undefined): BinaryNode[] | undefined {
    const { xmlns, to = "" } = node.attrs;
    const [child] = childrenOf(node);
    if (xmlns === "encrypt" && child?.tag === "count") return [{ tag: "count", attrs: { value: "50" } }];
    if (xmlns === "encrypt" && child?.tag === "digest") return [{ tag: "digest", attrs: {} }];
    if (xmlns === "encrypt" && child?.tag === "key")
      return [{ tag: "list", attrs: {}, content: childrenOf(child).flatMap(keysOf) }];
    if (xmlns === "encrypt") {
      const list = childOf(node, "list");
      if (device && list) device.bundle.single.push(...childrenOf(list));
      return undefined;
    }
    if (xmlns === "usync" && child) {
      const list = childrenOf(childOf(child, "list")).flatMap(entryOf);
      return [{ tag: "usync", attrs: {}, content: [{ tag: "list", attrs: {}, content: list }] }];
    }
    if (xmlns === "w:g2") return [groupOf(to)];
    if (xmlns === "w:m") {
      const { port } = media.address() as AddressInfo;
      return [
        {
          tag: "media_conn",
          attrs: { auth: "a", ttl: "3600" },
          content: [{ tag: "host", attrs: { hostname: `localhost:${port}` } }],
        },
      ];
    }
    if (xmlns === "abt") return [{ tag: "props", attrs: {}, content: [] }];
    if (xmlns === "blocklist") return [{ tag: "list", attrs: {}, content: [] }];
    if (xmlns === "privacy") {
      const category = { tag: "category", attrs: { name: "readreceipts", value: "all" } };
      return [{ tag: "privacy", attrs: {}, content: [category] }];
    }
    const code = childOf(node, "link_code_companion_reg");
    return code ? pair(code, link) : undefined;
  }

  /** The two steps of a client that links with a code. */
  function pair(code: BinaryNode, link: Link): BinaryNode[] | undefined {
    const one = candidates.find((known) => known.link.payload === link.payload);
    if (!one) return undefined;
    if (code.attrs["stage"] === "companion_hello") {
      const wrapped = bytesOf(childOf(code, "link_code_pairing_wrapped_companion_ephemeral_pub"));
      const number = jidDecode(code.attrs["jid"])?.user ?? "";
      one.paired = { wrapped, number, primary: Curve.generateKeyPair(), identity: Curve.generateKeyPair() };
      const ref = { tag: "link_code_pairing_ref", attrs: {}, content: Buffer.from(one.ref) };
      return [{ tag: "link_code_companion_reg", attrs: {}, content: [ref] }];
    }
    finishPairing?.(one, bytesOf(childOf(code, "link_code_pairing_wrapped_key_bundle")));
    return undefined;
  }
  let finishPairing: ((one: Candidate, bundle: Buffer) => void) | undefined;

  function keysOf({ attrs: { jid = "" } }: BinaryNode): BinaryNode[] {
    const device = find(jid)?.devices.get(jidDecode(jid)?.device ?? 0);
    if (!device) return [];
    const { identity, registration, signed, single } = device.bundle;
    const key = single.shift();
    const part = (tag: string, content: Uint8Array) => ({ tag, attrs: {}, content });
    const parts = [
      part("registration", registration),
      part("type", KEY_BUNDLE_TYPE),
      part("identity", identity),
      signed,
    ];
    return [{ tag: "user", attrs: { jid }, content: [...parts, ...(key ? [key] : [])] }];
  }

  function entryOf({ attrs: { jid: asked = "" }, content }: BinaryNode): BinaryNode[] {
    const [protocol] = Array.isArray(content) ? content : [];
    const phone = protocol?.tag === "contact" ? bytesOf(protocol).toString().replace("+", "") : "";
    const jid = asked || `${phone}@s.whatsapp.net`;
    const user = find(jid);
    if (!user) return [];
    const devices = [...user.devices.keys()].map((id) => ({
      tag: "device",
      attrs: { id: String(id), "key-index": String(id) },
    }));
    return [
      {
        tag: "user",
        attrs: { jid },
        content: [
          { tag: "devices", attrs: {}, content: [{ tag: "device-list", attrs: {}, content: devices }] },
          { tag: "lid", attrs: { val: `${user.lid}@lid` } },
          { tag: "contact", attrs: { type: "in" } },
        ],
      },
    ];
  }

  function groupOf(jid: string): BinaryNode {
    const { subject = "", members = [] } = groups.get(jid) ?? {};
    const participants = members.map((number) => ({
      tag: "participant",
      attrs: { jid: `${number}@s.whatsapp.net`, lid: `${userOf(number).lid}@lid` },
    }));
    return {
      tag: "group",
      attrs: { id: jid, subject, s_t: now(), creation: now(), addressing_mode: "pn" },
      content: participants,
    };
  }

  /** Passes a message on to the devices it is encrypted for. */
  function relay({ attrs: { to = "", id = "", type = "text", edit }, content }: BinaryNode, from: Device): void {
    const parts = Array.isArray(content) ? content : [];
    const inGroup = to.endsWith("@g.us");
    const isHidden = to.endsWith("@lid");
    const shared = parts.filter(({ tag }) => tag === "enc" || tag === "device-identity" || tag === "meta");
    const { user } = from;
    const [number, lid] = [`${user.number}:${from.id}@s.whatsapp.net`, `${user.lid}:${from.id}@lid`];
    const [sender, other] = isHidden
      ? [lid, { sender_pn: number, addressing_mode: "lid" }]
      : [number, { sender_lid: lid }];
    const own = childrenOf(childOf({ tag: "", attrs: {}, content: parts }, "participants"));
    const direct = own.length > 0 || inGroup ? [] : [{ tag: "to", attrs: { jid: to }, content: [] }];
    const members = inGroup ? (groups.get(to)?.members ?? []).flatMap((one) => [...userOf(one).devices.values()]) : [];
    const addressed = [...own, ...direct].flatMap((one) => {
      const device = find(one.attrs["jid"] ?? "")?.devices.get(jidDecode(one.attrs["jid"])?.device ?? 0);
      return device ? [{ device, encrypted: childrenOf(one) }] : [];
    });
    const all = [
      ...addressed,
      ...members
        .filter((one) => one !== from && !addressed.some(({ device }) => device === one))
        .map((device) => ({ device, encrypted: [] as BinaryNode[] })),
    ];
    for (const { device, encrypted } of all) {
      const place = inGroup
        ? { from: to, participant: sender, participant_lid: lid }
        : { from: sender, ...other, ...(device.user === user ? { recipient: to } : {}) };
      const notify = names.get(user.number) ?? user.number;
      const node = {
        tag: "message",
        attrs: { id, type, t: now(), notify, ...place, ...(edit ? { edit } : {}) },
        content: [...encrypted, ...shared],
      };
      device.waiting.push(node);
      device.link?.send(node);
    }
  }
  const names = new Map<string, string>();

  const media: Server = createHttps(certificateFor(["localhost"]), (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (request.method === "GET") {
      const file = files.get(path);
      response.writeHead(file ? 200 : 404).end(file);
      return;
    }
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      files.set(path, Buffer.concat(parts));
      const { port } = media.address() as AddressInfo;
      response.end(JSON.stringify({ url: `https://localhost:${port}${path}`, direct_path: path }));
    });
  });

  await Promise.all([http, media].map((one) => new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve))));
  t.after(async () => {
    for (const socket of sockets.clients) socket.terminate();
    media.closeAllConnections();
    await Promise.all([http, media].map((one) => new Promise((resolve) => one.close(resolve))));
  });

  function ends(number: string, reason: BinaryNode): void {
    for (const { link } of userOf(number).devices.values()) link?.send(reason);
  }

  return {
    /** Address for `webUrl`. */
    url: `ws://localhost:${(http.address() as AddressInfo).port}/ws/chat`,
    state,
    /** Everything that clients have sent. */
    log,
    files,
    of: (tag: string) => log.filter((node) => node.tag === tag),
    name: (number: string, name: string) => void names.set(number, name),
    group: (jid: string, subject: string, members: readonly string[]) => void groups.set(jid, { subject, members }),
    /** A phone with this number scans the code. */
    async scans(qr: string, number: string): Promise<void> {
      const [ref = "", , , secret = ""] = (qr.split("#")[1] ?? "").split(",");
      const one = candidates.find((known) => ref.startsWith(known.ref));
      if (!one) throw new Error("nobody shows this code now");
      await confirm(one, number, Buffer.from(secret, "base64"));
    },
    /** The phone of a number gets the code that the client shows. */
    async enters(code: string): Promise<void> {
      const one = candidates.find(({ paired }) => paired);
      if (!one?.paired) throw new Error("nobody waits for a code");
      const { wrapped, number, primary, identity } = one.paired;
      const opened = await derivePairingCodeKey(code, wrapped.subarray(0, 32));
      const companion = aesDecryptCTR(wrapped.subarray(48, 80), opened, wrapped.subarray(32, 48));
      const [salt, iv] = [randomBytes(32), randomBytes(16)];
      const sealed = aesEncryptCTR(primary.public, await derivePairingCodeKey(code, salt), iv);
      const part = (tag: string, content: Uint8Array) => ({ tag, attrs: {}, content });
      const finished = new Promise<void>((resolve) => {
        finishPairing = (candidateOf, bundle) => {
          const ephemeral = Curve.sharedKey(primary.private, companion);
          const key = hkdf(ephemeral, 32, {
            salt: bundle.subarray(0, 32),
            info: "link_code_pairing_key_bundle_encryption_key",
          });
          const random = aesDecryptGCM(
            bundle.subarray(44),
            Buffer.from(key),
            bundle.subarray(32, 44),
            Buffer.alloc(0),
          ).subarray(64);
          const shared = Curve.sharedKey(identity.private, candidateOf.bundle.identity);
          const secret = hkdf(Buffer.concat([ephemeral, shared, random]), 32, { info: "adv_secret" });
          void confirm(candidateOf, number, Buffer.from(secret)).then(resolve);
        };
      });
      one.link.send({
        tag: "notification",
        attrs: { from: S_WHATSAPP_NET, type: "link_code_companion_reg", id: "code-1", t: now() },
        content: [
          {
            tag: "link_code_companion_reg",
            attrs: { stage: "primary_hello" },
            content: [
              part("link_code_pairing_wrapped_primary_ephemeral_pub", Buffer.concat([salt, iv, sealed])),
              part("primary_identity_pub", identity.public),
              part("link_code_pairing_ref", Buffer.from(one.ref)),
            ],
          },
        ],
      });
      await finished;
    },
    /** The phone removes all linked devices of the number. */
    removes(number: string): void {
      const content = [{ tag: "conflict", attrs: { type: "device_removed" } }];
      ends(number, { tag: "stream:error", attrs: { code: "401" }, content });
      userOf(number).devices.clear();
    },
    /** Asks the devices of the number to connect again. */
    restarts: (number: string) => ends(number, { tag: "stream:error", attrs: { code: "515" } }),
    /** Another connection with the keys of the devices of the number is there. */
    replaces: (number: string) => ends(number, REPLACED),
    /** Ends the connections whose devices are not linked. */
    forgets: () => candidates.splice(0).forEach(({ link }) => link.send({ tag: "xmlstreamend", attrs: {} })),
    /** Number of connections whose devices are not linked. */
    candidates: () => candidates.length,
    /** Ends the connections of the number, as networks do. */
    drops: (number: string) => ends(number, { tag: "xmlstreamend", attrs: {} }),
    isLinked: (number: string) => (users.get(number)?.devices.size ?? 0) > 0,
  };
}
