// Writes quartz.txt: what Quartz 2.3.2 makes of CRON expressions, by zone and time.
//
//	curl -O https://repo1.maven.org/maven2/org/quartz-scheduler/quartz/2.3.2/quartz-2.3.2.jar
//	java -cp quartz-2.3.2.jar Quartz.java > quartz.txt
//
// A line is expression | zone | after | the next times, in order; "never" where they end, "refused" for what is no expression.
import java.text.ParseException;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.TimeZone;
import org.quartz.CronExpression;

public class Quartz {
	static final int TIMES = 4;

	// What the parts of the language mean, without any change of clocks.
	static final String[] LANGUAGE = {
		"0 0 12 * * ?", "0 15 10 ? * *", "0 15 10 * * ? *", "0 15 10 * * ? 2027", "0 * 14 * * ?", "0 0/5 14 * * ?", "0 0/5 14,18 * * ?", "0 0-5 14 * * ?",
		"0 10,44 14 ? 3 WED", "0 15 10 ? * MON-FRI", "0 15 10 15 * ?", "0 15 10 L * ?", "0 15 10 L-2 * ?", "0 15 10 LW * ?", "0 15 10 ? * 6L", "0 15 10 ? * FRIL",
		"0 15 10 ? * 6L 2026-2028", "0 15 10 ? * 6#3", "0 15 10 ? * FRI#3", "0 0 12 1/5 * ?", "0 11 11 11 11 ?", "0 0 0 29 2 ?", "0 0 0 30 2 ?", "0 0 0 31 * ?",
		"* * * * * ?", "5/15 * * * * ?", "/20 * * * * ?", "*/20 * * * * ?", "0/7 0/11 * * * ?", "59 59 23 31 12 ?", "59 59 23 31 12 ? 2026", "0 0 0 1 1 ? 2099", "0 0 0 1 1 ? 2020",
		"0 0 22-2 * * ?", "0 50-10/5 * * * ?", "0 0 0 28-3 * ?", "0 0 0 ? NOV-FEB SUN", "0 0 0 ? * FRI-MON", "0 0 0 ? * SAT-SUN", "0 0 0 ? * sun,wed", "0 0 0 ? jan,jul 2",
		"0 0 0 ? * L", "0 0 0 ? * 1", "0 0 0 ? * 7", "0 0 0 ? * 1-5", "0 0 0 ? * 2/2", "0 0 0 ? * 2-7/3", "0 0 0 ? * SUN#1", "0 0 0 ? * 2#5", "0 0 0 ? * 7L",
		"0 0 0 1W * ?", "0 0 0 15W * ?", "0 0 0 28W * ?", "0 0 0 LW 2 ?", "0 0 0 L-3W * ?", "0 0 0 L 2 ?", "0 0 0 L-30 * ?", "0 0 0 1,15,31 * ?", "0 0 0 1-31/10 * ?", "0 0 0 10/10 * ?",
		"0 0 6/6 * * ?", "0 30 8-18/2 ? * 2-6", "0 0 0 1 1/3 ?", "0 0 0 1 2/4 ?", "0 0 0 1 3-12/3 ?", "0 0 0 1 1 ? 2026/2", "0 0 0 1 1 ? 2026,2028,2031", "0 0 0 ? 5 2#1 2028", "10,20,30 15 4 ? * 3",
		"0  0   3 * * ?", "0 0 3 * * ? *", "0 0 3 ? * * *", "0 0 3 1-7 * ?", "0 0 3 ? 2 5#4",
	};
	// What is no expression.
	static final String[] REFUSED = {
		"", "0", "0 0 3 * *", "0 0 3 * * *", "0 0 3 ? * ?", "0 0 3 1 * 2", "60 * * * * ?", "0 60 * * * ?", "0 0 24 * * ?", "0 0 0 0 * ?", "0 0 0 32 * ?", "0 0 0 1 0 ?", "0 0 0 1 13 ?",
		"0 0 0 ? * 0", "0 0 0 ? * 8", "0 0 0 ? * XYZ", "0 0 0 1 XYZ ?", "? * * * * ?", "0 ? * * * ?", "0 0 ? * * ?", "0 0 0 * ? ?", "0/60 * * * * ?", "0 0/60 * * * ?", "0 0 0/24 * * ?", "0 0 0 1/32 * ?",
		"0 0 0 ? * 6#6", "0 0 0 ? * 6#0", "0 0 0 L-31 * ?", "0 0 0 L,15 * ?", "0 0 0 ? * 6L,2", "0 0 0 32W * ?", "0 0 x * * ?", "0 0 0 ? * MON-XYZ", "0 0 0 ? * 6#3,2#1", "0 0 0 1 1 ? 2028-2026", "a b c d e f",
	};
	// What the changes of clocks may touch. No one comes twice within an hour: there we go our own way.
	static final String[] CLOCK = {
		"0 30 0 * * ?", "0 0 1 * * ?", "0 15 1 * * ?", "0 30 1 * * ?", "0 45 1 * * ?", "0 0 2 * * ?", "0 30 2 * * ?", "0 59 2 * * ?", "0 0 3 * * ?", "0 30 3 * * ?", "0 0 0 * * ?",
		"0 0 * * * ?", "0 30 * * * ?", "0 0 0/2 * * ?", "0 30 1/2 * * ?", "0 45 1-3 * * ?", "0 0 23 * * ?", "0 30 2 ? * SUN", "0 30 1 L * ?", "0 30 2 8 3 ?",
	};
	static final String[] ZONES = {
		"UTC", "America/New_York", "Europe/Berlin", "Europe/London", "Australia/Lord_Howe", "Australia/Sydney", "America/Santiago", "Asia/Kolkata", "Africa/Cairo", "America/St_Johns", "Asia/Tokyo", "Pacific/Chatham",
	};

	public static void main(String[] args) {
		for (String e : LANGUAGE)
			for (String after : new String[] {"2026-02-27T23:59:59Z", "2027-11-30T12:34:56Z"})
				line(e, "UTC", Instant.parse(after), TIMES);
		for (String e : REFUSED)
			line(e, "UTC", Instant.EPOCH, 0);
		for (String zone : ZONES)
			for (String e : CLOCK)
				for (Instant after : around(zone))
					line(e, zone, after, TIMES);
	}

	// Some 25 hours and a few before each change of 2026, at half past.
	static List<Instant> around(String zone) {
		List<Instant> out = new ArrayList<>();
		var rules = ZoneId.of(zone).getRules();
		for (var change = rules.nextTransition(Instant.parse("2026-01-01T00:00:00Z")); change != null && change.getInstant().isBefore(Instant.parse("2027-01-01T00:00:00Z")); change = rules.nextTransition(change.getInstant()))
			for (long minutes : new long[] {25 * 60 + 10, 3 * 60 + 20, 65})
				out.add(change.getInstant().minusSeconds(60 * minutes));
		if (out.isEmpty())
			out.add(Instant.parse("2026-03-08T06:30:00Z"));
		return out;
	}

	static void line(String expression, String zone, Instant after, int times) {
		StringBuilder out = new StringBuilder();
		try {
			CronExpression cron = new CronExpression(expression);
			cron.setTimeZone(TimeZone.getTimeZone(zone));
			Date t = Date.from(after);
			for (int i = 0; i < times; i++) {
				t = cron.getNextValidTimeAfter(t);
				if (t == null) {
					out.append(" never");
					break;
				}
				out.append(" ").append(DateTimeFormatter.ISO_INSTANT.format(t.toInstant()));
			}
			if (times == 0)
				out.append(" taken");
		} catch (ParseException | RuntimeException refused) {
			out.append(" refused");
		}
		System.out.println(expression + " | " + zone + " | " + DateTimeFormatter.ISO_INSTANT.format(after) + " |" + out);
	}
}
