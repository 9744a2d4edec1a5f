/** Usage and quotas: `@svc/sdk/usage`. */
export { SessionUsage, usage, UsageTotals } from "./contract.ts";
export * from "./service.ts";
