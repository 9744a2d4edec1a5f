/** Part of the guided setup: who may reach the gateway. */
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { SetupOption, SetupPart } from "@svc/sdk/wizard";

const LOOPBACK = {
  value: "loopback",
  label: "Only programs on this machine",
  hint: "phones and other machines need a tunnel, e.g. over SSH",
};
const LAN = {
  value: "lan",
  label: "Other machines in this network, too",
  hint: "whoever has the token controls the gateway; without gateway.tls the traffic is readable in the network; needs a restart, which follows the setup",
};

export function createAccessPart(info: Pick<GatewayInfo, "authMode">): Pick<SetupPart, "start" | "next"> {
  return {
    async start({ config }) {
      const bind = bindOf(config);
      const isListed = bind === LOOPBACK.value || bind === LAN.value;
      const options: SetupOption[] = [
        ...(isListed ? [] : [{ value: bind, label: `Keep gateway.bind "${bind}"` }]),
        LOOPBACK,
        LAN,
      ];
      const message = `${credential(info)}\n\nWho may reach the gateway?`;
      return { ask: { kind: "select", message, options, initial: bind } };
    },
    async next({ config, answer }) {
      if (answer === bindOf(config)) return { done: true };
      return {
        done: true,
        message: `Access: gateway.bind is now "${String(answer)}".`,
        config: { gateway: { bind: answer } },
      };
    },
  };
}

function bindOf({ gateway }: Readonly<Record<string, unknown>>): string {
  const { bind } = Object(gateway) as { bind?: unknown };
  return typeof bind === "string" ? bind : LOOPBACK.value;
}

/** Where the credential is, never the credential. */
function credential({ authMode }: Pick<GatewayInfo, "authMode">): string {
  switch (authMode) {
    case "token":
      return "Programs connect with the token of the gateway. On the machine of the gateway, this command prints it: svc gateway token";
    case "password":
      return "Programs connect with the password of the gateway. On the machine of the gateway, this command prints it: svc gateway token";
    case "none":
      return "gateway.auth.mode is none: every program on this machine controls the gateway. Require a token: svc config set gateway.auth.mode token";
    default:
      return `gateway.auth.mode is ${authMode}; it decides who may connect.`;
  }
}
