/** Usage and quotas: `@svc/sdk/usage`. */
export { SessionUsage, sessionsUsage, usage, UsageTotals } from "./contract.ts";
export * from "./service.ts";
