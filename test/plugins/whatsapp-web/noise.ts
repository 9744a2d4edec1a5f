/** The encrypted transport of WhatsApp Web, on the side of the server. */
import {
  aesDecryptGCM,
  aesEncryptGCM,
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  hkdf,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
  type BinaryNode,
} from "@whiskeysockets/baileys";

const EMPTY = Buffer.alloc(0);

const ivOf = (counter: number) => {
  const iv = Buffer.alloc(12);
  iv.writeUInt32BE(counter, 8);
  return iv;
};

/** The state of a Noise handshake (XX), for either side. */
export function createHandshake() {
  let hash: Buffer = Buffer.from(NOISE_MODE);
  let [salt, key] = [hash, hash];
  let counter = 0;
  const authenticate = (data: Uint8Array) => void (hash = sha256(Buffer.concat([hash, data])));
  const derive = (data: Uint8Array): [Buffer, Buffer] => {
    const both = Buffer.from(hkdf(Buffer.from(data), 64, { salt, info: "" }));
    return [both.subarray(0, 32), both.subarray(32)];
  };
  authenticate(NOISE_WA_HEADER);
  return {
    authenticate,
    mix(secret: Uint8Array) {
      [salt, key] = derive(secret);
      counter = 0;
    },
    encrypt(plain: Uint8Array) {
      const sealed = aesEncryptGCM(plain, key, ivOf(counter++), hash);
      authenticate(sealed);
      return sealed;
    },
    decrypt(sealed: Uint8Array) {
      const plain = aesDecryptGCM(sealed, key, ivOf(counter++), hash);
      authenticate(sealed);
      return plain;
    },
    /** Keys from the client to the server, and back. */
    split: () => derive(EMPTY),
  };
}

/** One frame: three bytes of length, then the data. */
export function framed(data: Uint8Array): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntBE(data.byteLength, 0, 3);
  return Buffer.concat([head, data]);
}

/** Splits a stream of bytes into frames. */
export function createFrames() {
  let rest: Buffer = EMPTY;
  let hasIntro = false;
  return function* frames(bytes: Buffer): Generator<Buffer> {
    rest = Buffer.concat([rest, bytes]);
    if (!hasIntro && rest.byteLength >= NOISE_WA_HEADER.byteLength) {
      rest = rest.subarray(NOISE_WA_HEADER.byteLength);
      hasIntro = true;
    }
    while (rest.byteLength >= 3 && rest.byteLength >= 3 + rest.readUIntBE(0, 3)) {
      const end = 3 + rest.readUIntBE(0, 3);
      yield rest.subarray(3, end);
      rest = rest.subarray(end);
    }
  };
}

export interface Link {
  /** What the client says about itself. */
  readonly payload: proto.IClientPayload;
  send(node: BinaryNode): void;
}

/** Takes one connection: the handshake, then nodes. @param certificate chain that the client accepts */
export function serveNoise(
  certificate: Uint8Array,
  write: (bytes: Buffer) => void,
  onLink: (link: Link) => void,
  onNode: (node: BinaryNode) => void | Promise<void>,
): (bytes: Buffer) => Promise<void> {
  const frames = createFrames();
  const shake = createHandshake();
  const [ephemeral, own] = [Curve.generateKeyPair(), Curve.generateKeyPair()];
  let stage: "hello" | "finish" | "open" = "hello";
  let keys: [Buffer, Buffer] = [EMPTY, EMPTY];
  const counters = { read: 0, written: 0 };

  function hello(frame: Buffer): void {
    const client = proto.HandshakeMessage.decode(frame).clientHello?.ephemeral ?? EMPTY;
    shake.authenticate(client);
    shake.authenticate(ephemeral.public);
    shake.mix(Curve.sharedKey(ephemeral.private, client));
    const sealed = shake.encrypt(own.public);
    shake.mix(Curve.sharedKey(own.private, client));
    const serverHello = { ephemeral: ephemeral.public, static: sealed, payload: shake.encrypt(certificate) };
    write(framed(proto.HandshakeMessage.encode({ serverHello }).finish()));
  }

  function finish(frame: Buffer): void {
    const { static: sealed, payload } = proto.HandshakeMessage.decode(frame).clientFinish ?? {};
    const client = shake.decrypt(sealed ?? EMPTY);
    shake.mix(Curve.sharedKey(ephemeral.private, client));
    const told = proto.ClientPayload.decode(shake.decrypt(payload ?? EMPTY));
    keys = shake.split();
    onLink({
      payload: told,
      send(node) {
        write(framed(aesEncryptGCM(encodeBinaryNode(node), keys[1], ivOf(counters.written++), EMPTY)));
      },
    });
  }

  return async (bytes) => {
    for (const frame of frames(bytes)) {
      if (stage === "open") {
        await onNode(await decodeBinaryNode(aesDecryptGCM(frame, keys[0], ivOf(counters.read++), EMPTY)));
      } else if (stage === "hello") {
        stage = "finish";
        hello(frame);
      } else {
        stage = "open";
        finish(frame);
      }
    }
  };
}
