import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.Statement;

/** Uses a SQL gateway through Flink's JDBC driver and prints what it sees; the argument is host:port. */
public class JdbcClient {
    public static void main(String[] arguments) throws Exception {
        Class.forName("org.apache.flink.table.jdbc.FlinkDriver");
        int code = 0;
        try (Connection connection = DriverManager.getConnection("jdbc:flink://" + arguments[0]);
                Statement statement = connection.createStatement()) {
            use(connection, statement);
        } catch (Throwable error) {
            error.printStackTrace(System.out);
            code = 1;
        }
        System.exit(code);
    }

    private static void use(Connection connection, Statement statement) throws Exception {
        print("catalogs", connection.getMetaData().getCatalogs());
        print("schemas", connection.getMetaData().getSchemas());
        statement.execute(
                "CREATE TABLE numbers (id BIGINT, half AS CAST(id AS DECIMAL(10, 2)) / 2, at AS TO_TIMESTAMP_LTZ(id, 3), "
                        + "name AS CAST(id AS STRING), big AS id > 1, day AS DATE '2024-02-03', share AS id / 4.0E0, "
                        + "m AS MAP['a', id], nothing AS CAST(NULL AS INT)) WITH ('connector' = 'datagen', "
                        + "'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '2')");
        print("rows", statement.executeQuery("SELECT * FROM numbers"));
        try {
            statement.executeQuery("SELECT wrong FROM numbers");
        } catch (Exception error) {
            System.out.println("refused " + error.getCause().getMessage().split("\n")[0]);
        }
        statement.execute("CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole')");
        statement.execute("INSERT INTO nowhere SELECT id FROM numbers");
        print("job", statement.getResultSet());
        statement.execute("CREATE TABLE ticks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '2000')");
        ResultSet ticks = statement.executeQuery("SELECT id FROM ticks");
        int count = 0;
        while (count < 2500 && ticks.next()) {
            count++;
        }
        System.out.println("ticks " + count);
    }

    private static void print(String title, ResultSet rows) throws Exception {
        ResultSetMetaData columns = rows.getMetaData();
        while (rows.next()) {
            StringBuilder line = new StringBuilder(title);
            for (int column = 1; column <= columns.getColumnCount(); column++) {
                line.append(column == 1 ? " " : " | ").append(rows.getObject(column));
            }
            System.out.println(line);
        }
    }
}
