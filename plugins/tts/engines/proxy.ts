/** A connection through an HTTP proxy (`CONNECT`). */
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { unavailable } from "@svc/sdk";

/**
 * @param target `ws:` or `wss:`; for `wss:`, TLS is between this process and the target
 * @throws GatewayError `UNAVAILABLE` naming the setting; the signal's reason
 */
export async function throughProxy(proxy: string, target: URL, signal: AbortSignal): Promise<Socket> {
  if (!URL.canParse(proxy)) return unavailable("messages.tts.edge.proxy is not a URL");
  const { protocol, hostname, port, username, password } = new URL(proxy);
  const isSecure = target.protocol === "wss:";
  const place = `${target.hostname}:${target.port || (isSecure ? 443 : 80)}`;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  const ask = protocol === "https:" ? secureRequest : request;
  const socket = await new Promise<Socket>((resolve, reject) => {
    const asked = ask({
      host: hostname,
      port: port || (protocol === "https:" ? 443 : 80),
      method: "CONNECT",
      path: place,
      headers: { host: place, ...(username === "" ? {} : { "proxy-authorization": `Basic ${login}` }) },
      signal,
    });
    asked.on("connect", ({ statusCode = 0 }, connection) => {
      if (statusCode === 200) return resolve(connection as Socket); // of a client request it is a socket
      connection.destroy();
      return reject(new Error(`status ${statusCode}`));
    });
    asked.on("response", (answer) => {
      answer.destroy();
      reject(new Error(`status ${answer.statusCode ?? 0}`));
    });
    asked.on("error", reject);
    asked.end();
  }).catch((error: Error) => {
    signal.throwIfAborted();
    const reason = "code" in error ? String(error.code) : error.message;
    return unavailable(`the proxy of messages.tts.edge.proxy does not connect to the service (${reason})`);
  });
  return isSecure ? connect({ socket, servername: target.hostname }) : socket;
}
