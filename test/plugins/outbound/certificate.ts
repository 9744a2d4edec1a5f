/** A self-signed certificate for one test: DER by hand, because the runtime can read but not create certificates. */
import { generateKeyPairSync, sign } from "node:crypto";

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const SEQUENCE = 0x30;
const hex = (text: string) => Buffer.from(text, "hex");
const ED25519 = der(SEQUENCE, der(0x06, hex("2b6570")));

/** @param names DNS names of the certificate */
export function certificateFor(names: readonly string[]): { readonly key: string; readonly cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const common = der(SEQUENCE, der(0x06, hex("550403")), der(0x0c, Buffer.from("test")));
  const subject = der(SEQUENCE, der(0x31, common));
  const time = (years: number) => {
    const text = `${new Date().getUTCFullYear() + years}0101000000Z`;
    return der(0x18, Buffer.from(text));
  };
  const alternatives = der(SEQUENCE, ...names.map((name) => der(0x82, Buffer.from(name))));
  const extension = der(SEQUENCE, der(0x06, hex("551d11")), der(0x04, alternatives));
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, hex("02"))),
    der(0x02, hex("01")),
    ED25519,
    subject,
    der(SEQUENCE, time(-1), time(2)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, der(SEQUENCE, extension)),
  );
  const signature = der(0x03, hex("00"), sign(null, body, privateKey));
  const lines =
    der(SEQUENCE, body, ED25519, signature)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  const cert = `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), cert };
}
