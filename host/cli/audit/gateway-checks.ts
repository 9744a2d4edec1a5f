/** Checks of the sections `gateway` and `logging`: who can reach the port, what lets them in, and what the log holds. Pure. */
import { configAt, setCommand, textsOf, unsetCommand } from "@svc/sdk/cli";
import { AUDIT_LEAST, reachesLoopback, weaknessOf } from "@svc/host/local";
import type { HostCheck, HostHit, HostView } from "./view.ts";

/** Bits of a network that is too wide for the addresses of a proxy. Choice. */
const WIDE = { 4: 7, 6: 15 } as const;
/** A new secret, made by the shell: it is in no text of ours, and in no history of a shell. */
export const RANDOM = '"$(openssl rand -hex 24)"';

/** One hit if the key has this value. */
function flagged(path: string, wanted: unknown, message: string): (view: HostView) => readonly HostHit[] {
  return ({ config }) =>
    configAt(config, path) === wanted ? [{ about: path, message, mend: unsetCommand(path.split(".")) }] : [];
}

export const GATEWAY_CHECKS: readonly HostCheck[] = [
  {
    id: "gateway.no-auth",
    severity: "critical",
    why: "Whoever reaches the port is admin: every program of this machine, and beyond loopback every machine.",
    find: ({ auth, exposure }) =>
      auth.mode !== "none"
        ? []
        : [
            {
              about: "gateway.auth.mode",
              message: `The mode is none${exposure === "none" ? "" : ", and the gateway listens beyond this machine"}.`,
              mend: setCommand(["gateway", "auth", "mode"], "token"),
              ...(exposure === "none" ? { severity: "warning" as const } : {}),
            },
          ],
  },
  {
    id: "gateway.weak-secret",
    severity: "critical",
    why: "Who guesses it is admin.",
    find: ({ auth: { mode, secret }, exposure }) => {
      const least = mode === "password" ? AUDIT_LEAST.password : AUDIT_LEAST.token;
      const weakness = secret && weaknessOf(secret.text, least);
      if (!secret || weakness === undefined) return [];
      const isKept = secret.from === "kept";
      return [
        {
          about: secret.name,
          message: `The ${mode === "password" ? "password" : "token"} ${weakness}.`,
          mend:
            secret.from === "environment"
              ? `export ${secret.name}=${RANDOM}`
              : `svc config set --string gateway.auth.${isKept ? "token" : mode} ${RANDOM}`,
          ...(exposure === "none" ? { severity: "warning" as const } : {}),
        },
      ];
    },
  },
  {
    id: "gateway.no-tls",
    severity: "warning",
    why: "Whoever shares the network reads the secret and all conversations.",
    find: ({ config, exposure }) =>
      exposure !== "network" ||
      configAt(config, "gateway.tls.enabled") === true ||
      textsOf(configAt(config, "gateway.trustedProxies")).length > 0
        ? []
        : [
            {
              about: "gateway.tls.enabled",
              message: "The gateway listens beyond this machine without TLS, and no proxy stands before it.",
              mend: setCommand(["gateway", "tls", "enabled"], true),
            },
          ],
  },
  {
    id: "gateway.wide-proxies",
    severity: "critical",
    why: "A client of such a network writes its own address, and in mode trusted-proxy its own user name.",
    find: ({ config }) => {
      const proxies = textsOf(configAt(config, "gateway.trustedProxies"));
      const narrow = proxies.filter((network) => !isWide(network));
      return proxies.filter(isWide).map((network) => ({
        about: "gateway.trustedProxies",
        message: `${network} is trusted as a proxy, which is far more than the addresses of one.`,
        mend: setCommand(["gateway", "trustedProxies"], narrow.length > 0 ? narrow : ["127.0.0.1"]),
      }));
    },
  },
  {
    id: "gateway.local-proxy-user",
    severity: "critical",
    why: "Any program of this machine can send the header of the proxy, and is that user. A start refuses it.",
    find: ({ config, auth }) =>
      auth.mode === "trusted-proxy" &&
      configAt(config, "gateway.auth.trustedProxy.secret") === undefined &&
      reachesLoopback(textsOf(configAt(config, "gateway.trustedProxies")))
        ? [
            {
              about: "gateway.auth.trustedProxy.secret",
              message: "This machine itself is a trusted proxy, and the proxy proves itself by no secret.",
              mend: `svc config set --string gateway.auth.trustedProxy.secret ${RANDOM}`,
            },
          ]
        : [],
  },
  {
    id: "gateway.any-proxy-user",
    severity: "warning",
    why: "Every account that the proxy knows is admin here.",
    find: ({ config, auth }) =>
      auth.mode === "trusted-proxy" && textsOf(configAt(config, "gateway.auth.trustedProxy.allowUsers")).length === 0
        ? [
            {
              about: "gateway.auth.trustedProxy.allowUsers",
              message: "Everyone whom the proxy lets through may use this gateway.",
              mend: setCommand(["gateway", "auth", "trustedProxy", "allowUsers"], ["you@example.com"]),
            },
          ]
        : [],
  },
  {
    id: "gateway.real-ip",
    severity: "warning",
    why: "A proxy that does not overwrite X-Real-IP lets clients choose their address, and with it who is locked out.",
    find: flagged("gateway.allowRealIpFallback", true, "X-Real-IP counts as the address of the client."),
  },
  {
    id: "gateway.any-origin",
    severity: "warning",
    why: "A page of a stranger in your browser may connect, and guess.",
    find: ({ config, auth }) =>
      textsOf(configAt(config, "gateway.controlUi.allowedOrigins")).includes("*")
        ? [
            {
              about: "gateway.controlUi.allowedOrigins",
              message: "Pages of every origin may connect.",
              mend: unsetCommand(["gateway", "controlUi", "allowedOrigins"]),
              ...(auth.mode === "none" || auth.mode === "trusted-proxy" ? { severity: "critical" as const } : {}),
            },
          ]
        : [],
  },
  {
    id: "gateway.host-header-origin",
    severity: "critical",
    why: "A stranger's name that resolves to this machine makes his page one of yours (DNS rebinding).",
    find: flagged(
      "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback",
      true,
      "A page may connect if its origin is the Host header of its request.",
    ),
  },
  {
    id: "gateway.panel-without-device",
    severity: "critical",
    why: "The secret alone suffices everywhere: there is no device to approve, list or remove.",
    find: flagged("gateway.controlUi.dangerouslyDisableDeviceAuth", true, "The panel needs no device."),
  },
  {
    id: "gateway.insecure-panel",
    severity: "warning",
    why: "Pages over HTTP have no key of their own, so the panel cannot prove which device it is.",
    find: flagged(
      "gateway.controlUi.allowInsecureAuth",
      true,
      "The panel of this machine may connect without a device.",
    ),
  },
  {
    id: "logging.redaction-off",
    severity: "warning",
    why: "Keys that stand in texts and arguments are written to the log, which people send to others.",
    find: flagged("logging.redactSensitive", "off", "Texts that look like a secret are logged."),
  },
];

function isWide(network: string): boolean {
  const [address = "", bits] = network.split("/");
  return bits !== undefined && /^\d+$/.test(bits) && Number(bits) <= WIDE[address.includes(":") ? 6 : 4];
}
