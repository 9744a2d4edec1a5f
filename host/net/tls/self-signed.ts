/** Creates a self-signed certificate. Loads the ASN.1 library, so import it only where a certificate has to be created. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_subjectAltName,
  id_kp_serverAuth,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";

const COMMON_NAME = "2.5.4.3";
const ECDSA_SHA256 = "1.2.840.10045.4.3.2";

export interface SelfSigned {
  /** Host names and IP addresses that the certificate is valid for. */
  readonly names: readonly string[];
  /** epoch ms */
  readonly from: number;
  readonly to: number;
}

/** @returns PEM */
export function makeSelfSigned({ names, from, to }: SelfSigned): { readonly cert: string; readonly key: string } {
  // encoded: Node 20 may wait for ever while it exports a new key object, see `sdk/device`
  const { publicKey, privateKey: key } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_SHA256 });
  const value = new AttributeValue({ utf8String: "svc gateway" });
  const name = new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
  const contents = new TBSCertificate({
    version: Version.v3,
    serialNumber: new Uint8Array([1, ...randomBytes(15)]).buffer, // positive
    signature: algorithm,
    issuer: name,
    subject: name,
    validity: new Validity({ notBefore: new Date(from), notAfter: new Date(to) }),
    subjectPublicKeyInfo: AsnConvert.parse(publicKey, SubjectPublicKeyInfo),
    extensions: new Extensions([
      extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), true),
      extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_subjectAltName, new SubjectAlternativeName(names.map(toGeneralName))),
    ]),
  });
  const signature = sign("sha256", new Uint8Array(AsnConvert.serialize(contents)), key);
  const certificate = new Certificate({
    tbsCertificate: contents,
    signatureAlgorithm: algorithm,
    signatureValue: new Uint8Array(signature).buffer,
  });
  const lines =
    Buffer.from(AsnConvert.serialize(certificate))
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key,
  };
}

function toGeneralName(name: string): GeneralName {
  return new GeneralName(isIP(name) ? { iPAddress: name } : { dNSName: name });
}

function extension(id: string, value: object, critical = false): Extension {
  return new Extension({ extnID: id, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}
