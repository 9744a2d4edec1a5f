/** The library that controls browsers, 14 MB; loaded when the first browser starts. */
import { lazy } from "@svc/sdk";

export const library = lazy(() => import("playwright-core"));
