/** What both APIs derive from an account and a request. Pure. */
import { createHash } from "node:crypto";
import type { ModelRequest, ThinkingLevel } from "@svc/sdk/models";

/** Choice: newer parameter names are sent only to the API's own host, since compatible servers often support only the older ones. */
export function isOfficial(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.openai.com";
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

export type Effort = "minimal" | "low" | "medium" | "high" | "xhigh";

/**
 * `adaptive` leaves the choice to the server. Choice: so does `off`, since many models reject the API's value `none`, and an
 * answer with some thinking is better than none.
 */
const EFFORTS: Readonly<Record<ThinkingLevel, Effort | undefined>> = {
  off: undefined,
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  adaptive: undefined,
};

export function reasoningEffort({ model, thinking }: ModelRequest): Effort | undefined {
  if (model.reasoning !== true || thinking === undefined) return undefined;
  return EFFORTS[thinking === "xhigh" && model.xhigh !== true ? "high" : thinking];
}
