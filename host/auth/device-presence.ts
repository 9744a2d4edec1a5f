/** Checks in the handshake whether a client must prove a device. Spec: protocol/frames-and-connect.md §9. Pure. */
import type { Role } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { type ConnectParams, WEB_PANEL_CLIENT_ID } from "@svc/sdk/protocol";
import type { PanelPolicy } from "./access.ts";
import type { Credential } from "./credential.ts";

export interface DeviceClaim {
  readonly params: ConnectParams;
  /** With aliases resolved. */
  readonly clientId: string;
  readonly role: Role;
  readonly credential: Credential;
  readonly local: boolean;
  readonly panel: PanelPolicy;
}

/** Choice (spec/README.md): the next step for a node that was written from the contract alone. */
const NODE_KEY =
  "create an Ed25519 key pair and send `device` with the signed challenge, as svc node run does; then run svc nodes approve on the gateway's machine";

/**
 * @returns whether the client sent a device whose proof must be checked
 * @throws GatewayError a required device is missing. A wrong credential is reported later instead.
 */
export function checkDevicePresent({ params, clientId, role, credential, local, panel }: DeviceClaim): boolean {
  const isPanel = clientId === WEB_PANEL_CLIENT_ID;
  if (isPanel && panel.ignoresDevices && credential.trusted) return false;
  if (params.device) return true;
  const byProxy = credential.trusted && credential.user !== undefined && role === "operator";
  if (isPanel && !byProxy && !(panel.allowInsecureAuth && local)) {
    const message = "the control panel needs a device identity: open it over HTTPS or localhost (secure context)";
    throw refusal("CONTROL_UI_DEVICE_IDENTITY_REQUIRED", message);
  }
  if (role === "operator" && credential.trusted) return false;
  if (!credential.ok && credential.offered) return false; // row 10 asks the plugins, then reports what is wrong with it
  throw refusal("DEVICE_IDENTITY_REQUIRED", "device identity required", role === "node" ? { nextStep: NODE_KEY } : {});
}
