/** Two gateways in this process on one database. */
import type { TestContext } from "node:test";
import { testGateway, type TestGateway, type TestGatewayOptions } from "@svc/sdk/testing";
import { emptySchema } from "../postgres.ts";
import { until } from "../until.ts";

/** Configuration of a gateway on the database. */
export function onDatabase(url: string) {
  return { plugins: { entries: { "storage-postgres": { enabled: true } } }, "storage-postgres": { url } };
}

/** @param options of each; `storage-sqlite` stands for their storage @returns two, and a function that starts another one */
export async function twoGateways(
  t: TestContext,
  options: TestGatewayOptions,
): Promise<[TestGateway, TestGateway, () => Promise<TestGateway>]> {
  const url = await emptySchema();
  const config = { ...onDatabase(url), ...options.config };
  const start = () => testGateway(t, { ...options, config });
  return [await start(), await start(), start];
}

/** Polls what one gateway knows of the other. */
export const soon = (holds: () => boolean | Promise<boolean>, what: string) => until(holds, what, 20_000);
