/** Starts all parts. Each part finds its elements itself; every page works without JavaScript. */

import { enhanceActions } from "./actions.js";
import { checkPagesOnReturn } from "./backforward.js";
import { countClicks } from "./clicks.js";
import { enhanceCompletion } from "./complete.js";
import { deleteDrafts, enhanceComposers } from "./composer.js";
import { enhanceKeys } from "./keys.js";
import { enhancePictures } from "./lazy.js";
import { goLive } from "./live.js";
import { keepBadge } from "./notifications.js";
import { keepPlaceInHistory } from "./place.js";
import { enhancePolls } from "./polls.js";
import { enhanceReactions } from "./reactions.js";
import { enhanceReading } from "./reading.js";
import { offerAddress } from "./share.js";
import { suggestPeople } from "./suggestions.js";
import { followThread } from "./thread.js";
import { keepTimes } from "./times.js";

checkPagesOnReturn();
keepTimes();
enhanceComposers();
enhanceCompletion();
enhanceActions();
enhanceReactions();
enhancePolls();
enhanceKeys();
offerAddress();
enhancePictures();
goLive();
followThread();
keepPlaceInHistory();
enhanceReading();
keepBadge();
countClicks();
document.querySelector('form[action="/accounts/logout/"]')?.addEventListener("submit", deleteDrafts);
suggestPeople();
