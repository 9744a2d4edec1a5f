/** Scheduled jobs: `@svc/sdk/cron`. */
export * from "./contract.ts";
