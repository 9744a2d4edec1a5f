/** A WebSocket that trusts exactly one known certificate, regardless of its issuer. Needs the package `ws`, so not for browsers. */
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { refusal } from "../error-codes.ts";

/** @param fingerprint SHA-256 of the certificate in hex; any case, with or without colons */
export async function pinnedWebSocket(fingerprint: string): Promise<new (url: string) => object> {
  const { WebSocket } = await import("ws");
  const wanted = plain(fingerprint);
  return class extends WebSocket {
    constructor(url: string) {
      super(url, { rejectUnauthorized: false, finishRequest: (request) => sendOnceKnown(request, wanted) });
    }
  };
}

/** Sends the request only after the certificate was checked. */
function sendOnceKnown(request: ClientRequest, wanted: string): void {
  request.once("socket", (socket: Socket | TLSSocket) => {
    if (!("encrypted" in socket)) {
      request.destroy(refusal("TLS_FINGERPRINT_MISMATCH", "a fingerprint is only checked over wss://, not over ws://"));
      return;
    }
    socket.once("secureConnect", () => {
      const { fingerprint256 = "none" } = socket.getPeerCertificate() as Partial<PeerCertificate>; // empty without a certificate
      const message = `the gateway's certificate does not match tlsFingerprint; its fingerprint is ${fingerprint256}`;
      if (plain(fingerprint256) === wanted) request.end();
      else request.destroy(refusal("TLS_FINGERPRINT_MISMATCH", message));
    });
  });
}

function plain(fingerprint: string): string {
  return fingerprint
    .replace(/^sha256[:/]/i, "")
    .replace(/[:\s]/g, "")
    .toLowerCase();
}
