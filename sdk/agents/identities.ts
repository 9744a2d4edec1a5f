/** The `AgentIdentities` service: names and pictures of agents. */
import { defineService } from "../service.ts";

/** Name and picture that take precedence over those of an agent. */
export interface IdentityOverride {
  readonly name?: string;
  readonly avatar?: string;
}

/** An agent as clients show it. */
export interface PresentedAgent {
  readonly agentId: string;
  /** At most 50 characters. */
  readonly name: string;
  /** Up to 4 characters, an http(s) URL, a data URL, or `<base path of the control panel>/avatar/<agentId>`. */
  readonly avatar: string;
  readonly emoji?: string;
}

/** A picture in the workspace of an agent. */
export interface AgentImage {
  /** Media type by its extension; an SVG may contain scripts. */
  readonly type: string;
  /** At most 2 MiB. */
  readonly bytes: Uint8Array;
}

/** Names and pictures of agents. Spec: http/control-panel.md §4 and §6. */
export interface AgentIdentities {
  /** The default agent. */
  present(override?: IdentityOverride): Promise<PresentedAgent>;
  /**
   * Address of the picture of an agent: a URL, or the path under which the control panel serves `image`. `undefined`:
   * it has none, or the agent is unknown.
   * @param override only counts for the default agent
   */
  avatarUrl(agentId: string, override?: IdentityOverride): Promise<string | undefined>;
  /** The picture in the workspace of the agent. `undefined`: it has none, its picture is a URL, or the agent is unknown. */
  image(agentId: string, override?: IdentityOverride): Promise<AgentImage | undefined>;
}

/** Token of the service. */
export const AgentIdentities = defineService<AgentIdentities>()("agent.identities", "1.0.0", {
  summary:
    "Names and pictures of agents. Provided by the plugin `agents`; used by the plugin `control-panel`, which shows them.",
  remotable: true,
});
